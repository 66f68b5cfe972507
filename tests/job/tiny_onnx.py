#!/usr/bin/env python3
"""tiny_onnx.py FILE [N [LAYERS]]: write an ONNX model: input "x" of N (2) rows of 3 floats, "y" = Relu(x W + b), as often as there are
layers (1), by the fields of onnx.proto."""

import struct
import sys

FLOAT = 1  # TensorProto.DataType


def varint(value):
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def node(kind, name, inputs, output):
    ends = b"".join(block(1, each) for each in inputs) + block(2, output)
    return block(1, ends + block(3, name) + block(4, kind))


def weights(name, dims, values):
    raw = struct.pack("<%df" % len(values), *values)
    return block(5, b"".join(number(1, n) for n in dims) + number(2, FLOAT) + block(8, name) + block(9, raw))


def tensor(field, name, dims):
    shape = b"".join(block(1, number(1, n)) for n in dims)
    return block(field, block(1, name) + block(2, block(1, number(1, FLOAT) + block(2, shape))))


def layer(index, n_layers):
    """Nodes with the layer's number in their names, but those of a model of one."""
    mark = "" if n_layers == 1 else str(index)
    source = "x" if index == 0 else "clipped%d" % (index - 1)
    output = "y" if index == n_layers - 1 else "clipped%d" % index
    return (
        node("MatMul", "multiply" + mark, [source, "W"], "product" + mark)
        + node("Add", "shift" + mark, ["product" + mark, "b"], "sum" + mark)
        + node("Relu", "clip" + mark, ["sum" + mark], output)
    )


def model(rows, n_layers):
    graph = b"".join(layer(index, n_layers) for index in range(n_layers)) + b"".join(
        [
            block(2, "tiny"),
            weights("W", [3, 3], [1, 0, 0, 0, 1, 0, 0, 0, 1]),
            weights("b", [3], [1, 1, 1]),
            tensor(11, "x", [rows, 3]),
            tensor(12, "y", [rows, 3]),
        ]
    )
    opset = block(1, "") + number(2, 13)
    return number(1, 7) + block(2, "tacho's tests") + block(7, graph) + block(8, opset)


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[2:]]
    with open(sys.argv[1], "wb") as file:
        file.write(model(*(sizes + [2, 1][len(sizes) :])))
