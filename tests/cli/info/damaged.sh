# A trace of two ranks, damaged on purpose: trust is below 90 where a conclusion can be wrong (docs/trust.md).
command -v python3 >/dev/null || exit 77
python3 "$TACHO_SOURCE_DIR/tests/support/damage_trace.py" "$TACHO" made
