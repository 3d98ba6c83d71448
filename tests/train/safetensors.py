#!/usr/bin/env python3
"""The safetensors format by its description, as a judge of ours. usage: safetensors.py check|write|package-check|package-write FILE [FOLDER]

check reads a file that tutti wrote, write makes one for it to read; both know what is in it from values(). Those of the package do
it with PyPI's safetensors, from the folder if it is there or as it is installed; without one they end with 77."""

import json
import pathlib
import struct
import sys

import numpy

DTYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"}


def values():
    """{name: (dtype of the format, array)}; a bf16 is the upper half of a float32."""
    out = {}
    for name, code in DTYPES.items():
        out[f"{name}.größe"] = (name, (numpy.arange(6).reshape(2, 3) - 2).astype(code))
        out[f"{name}.scalar"] = (name, numpy.array(1).astype(code))
        out[f"{name}.empty"] = (name, numpy.zeros((3, 0), code))
    halves = ((numpy.arange(6).reshape(2, 3) - 2).astype("<f4").view("<u4") >> 16).astype("<u2")
    out["BF16.größe"] = ("BF16", halves)
    return out


METADATA = {"format": "pt", "note": 'größe "x"'}


def check(path):
    with open(path, "rb") as file:
        whole = file.read()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length].decode())
    data = whole[8 + length :]
    assert length % 8 == 0 and whole[8:9] == b"{", (length, whole[:20])
    assert header.pop("__metadata__") == METADATA
    wanted = values()
    assert header.keys() == wanted.keys(), header.keys() ^ wanted.keys()
    reached = 0
    for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = info["data_offsets"]
        dtype, array = wanted[name]
        assert begin == reached and info["dtype"] == dtype and tuple(info["shape"]) == array.shape, (name, info, reached)
        assert begin % array.itemsize == 0, (name, begin)
        found = numpy.frombuffer(data[begin:end], array.dtype).reshape(array.shape)
        assert (found == array).all(), (name, found)
        reached = end
    assert reached == len(data), (reached, len(data))


def write(path):
    # Another order of tensors, escapes instead of UTF-8, spaces in the JSON and none behind it: all of that is allowed.
    header, data = {"__metadata__": METADATA}, b""
    for name, (dtype, array) in reversed(list(values().items())):
        raw = array.tobytes()
        header[name] = {"data_offsets": [len(data), len(data) + len(raw)], "shape": list(array.shape), "dtype": dtype}
        data += raw
    text = json.dumps(header, indent=1).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def package():
    sys.path[:1] = sys.argv[3:]  # in the place of this folder, whose safetensors is this file
    try:
        import safetensors
    except ImportError as error:
        print(f"no safetensors package: {error}")
        sys.exit(77)
    return safetensors


def package_check(path):
    with open(path, "rb") as file:
        whole = file.read()
    found = dict(package().deserialize(whole))
    wanted = values()
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    for name, (dtype, array) in wanted.items():
        info = found[name]
        assert (info["dtype"], tuple(info["shape"]), bytes(info["data"])) == (dtype, array.shape, array.tobytes()), (name, info)


def package_write(path):
    names = {"BOOL": "bool", "U": "uint", "I": "int", "F": "float", "BF": "bfloat"}
    tensors = {}
    for name, (dtype, array) in values().items():
        kind = dtype.rstrip("0123456789")
        tensors[name] = {"dtype": names[kind] + dtype[len(kind) :], "shape": list(array.shape), "data": array.tobytes()}
    try:
        whole = package().serialize(tensors, METADATA)
    except TypeError as error:
        if any(pathlib.Path(package().__file__).is_relative_to(folder) for folder in sys.argv[3:]):
            raise  # the one that was fetched by its hash
        print(f"the safetensors that is installed has another interface: {error}")
        sys.exit(77)
    with open(path, "wb") as file:
        file.write(whole)


if __name__ == "__main__":
    {"check": check, "write": write, "package-check": package_check, "package-write": package_write}[sys.argv[1]](sys.argv[2])
