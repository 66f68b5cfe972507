"""What the processor has for numbers of fewer bits, as Linux tells it. What is fast is measured, not concluded from this."""

_FLAGS = {  # in /proc/cpuinfo -> as tacho calls it
    "avx512_bf16": "avx512_bf16",
    "avx512_fp16": "avx512_fp16",
    "avx512_vnni": "avx512_vnni",
    "avx_vnni": "avx_vnni",
    "amx_bf16": "amx_bf16",
    "amx_fp16": "amx_fp16",
    "amx_int8": "amx_int8",
    "svebf16": "sve_bf16",
    "bf16": "asimd_bf16",
    "asimddp": "asimd_dp",
    "i8mm": "i8mm",
}


def read(path="/proc/cpuinfo"):
    """Their names, sorted; none where the file cannot be read."""
    try:
        with open(path) as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return sorted(_FLAGS[flag] for flag in value.split() if flag in _FLAGS)
    except OSError:
        pass
    return []


def model(path="/proc/cpuinfo"):
    """What the processor is called, or its architecture."""
    try:
        with open(path) as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    import platform

    return platform.machine()
