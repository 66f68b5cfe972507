#!/usr/bin/env bash
# The quick programs of the conformance suite; make conformance runs all.
exec "$TACHO_SOURCE_DIR/tests/conformance/run.sh" quick
