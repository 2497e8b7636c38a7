#!/usr/bin/env python3
"""A gpujoin_server that misbehaves: it speaks the protocol up to a point and then does what the file "misbehaviour" in
the data directory says. For the test that no answer of a server can crash a backend.

Layout of messages: src/wire/message.h.
"""
import fcntl
import os
import select
import socket
import struct
import sys

MAGIC, VERSION = 0x4E4A5047, 1
(HELLO, WELCOME, OPEN, ATTACH, OPENED, RESERVE, GRANT, RELEASE, APPEND, APPENDED, SEAL, SEALED, PROBE, RESULT, SKIP,
 MARK, MARKED, SCAN, REWIND, REWOUND, GET_STATS, STATS, GET_DEVICES, DEVICES, CALIBRATE, FAILED) = range(1, 27)
HEADER = struct.Struct("<IHHIHHQQ")
ARENA_BYTES, BLOCK, NONE = 16 << 20, 1 << 20, 2**64 - 1


def message(kind, sequence=0, body=b"", magic=MAGIC, version=VERSION, size=None, session=7):
    size = HEADER.size + len(body) if size is None else size
    return HEADER.pack(magic, version, kind, size, 0, 0, session, sequence) + body


def arena(seals=fcntl.F_SEAL_SHRINK if hasattr(fcntl, "F_SEAL_SHRINK") else 2):
    memory = os.memfd_create("fake", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, ARENA_BYTES)
    if seals:
        fcntl.fcntl(memory, 1033, seals)  # F_ADD_SEALS
    return memory


def opened(offset=0, size=BLOCK):
    blocks = struct.pack("<QQQQ", offset, size, offset + BLOCK, size)
    return message(OPENED, 0, b"s" * 16 + blocks + b"fake".ljust(64, b"\0"))


def result(sequence, rows=1, offset=4 * BLOCK, size=BLOCK, probe_rows=0, columns=(), last=1):
    buffers = b"".join(struct.pack("<QQQQ", *column) for column in columns)
    body = struct.pack("<QQIHBBQQ", offset, size, rows, len(columns), last, 0, probe_rows, NONE)
    return message(RESULT, sequence, body + buffers)


# What to send instead of an answer, by the message it answers; each also gets the request's sequence number.
NONSENSE = {
    "short": lambda s: b"\0\0",
    "magic": lambda s: message(WELCOME, s, bytes(24), magic=1),
    "version": lambda s: message(WELCOME, s, bytes(24), version=999),
    "size": lambda s: message(WELCOME, s, bytes(24), size=12),
    "type": lambda s: message(99, s),
    "long": lambda s: bytes(120 << 10),
    "unasked": lambda s: message(GRANT, s, bytes(16)),
    "devices": lambda s: message(DEVICES, s, struct.pack("<I", 4000) + bytes(9300)),
    "ghost_append": lambda s: message(APPENDED, 12345),
    "ghost_result": lambda s: result(12345),
    "text": lambda s: message(FAILED, 0, b"\1" + b"x" * 1031),
    "close": None,
}
RESULTS = {
    "outside": lambda s: result(s, offset=ARENA_BYTES - 64),
    "overflow": lambda s: result(s, offset=2**64 - 64, size=128),
    "unaligned": lambda s: result(s, offset=7),
    "rows": lambda s: result(s, rows=2**32 - 1),
    "numbers_outside": lambda s: result(s, probe_rows=BLOCK),
    "no_numbers": lambda s: result(s, probe_rows=NONE),
    "columns": lambda s: result(s, columns=[(NONE, 0, 0, 0)] * 50),
    "column_outside": lambda s: result(s, columns=[(NONE, BLOCK, 0, 0)]),
    "ghost": lambda s: result(s + 1),
}


def converse(client, how):
    """One connection. `how` is STAGE or STAGE:WHAT."""
    stage, _, what = how.partition(":")
    nonsense = {**NONSENSE, **RESULTS}.get(what)
    memory = arena(0 if what == "unsealed" else 2)
    while packet := client.recv(200 << 10):
        _, _, kind, _, _, _, _, sequence = HEADER.unpack_from(packet)
        here = {"hello": HELLO, "open": OPEN, "append": APPEND, "seal": SEAL, "probe": PROBE}[stage] == kind
        if here and what == "silent":
            continue
        if here and what == "close":
            return
        if here and nonsense:
            client.send(nonsense(sequence))
        elif kind == HELLO:
            arena_bytes = ARENA_BYTES * (4 if what == "too_small" else 1)
            welcome = message(WELCOME, 0, struct.pack("<QQQ", os.getpid() << 20 | converse.count, arena_bytes, BLOCK))
            converse.count += 1
            if what == "no_descriptor":
                client.send(welcome)
            else:
                socket.send_fds(client, [welcome], [memory, memory] if what == "two_descriptors" else [memory])
        elif kind == OPEN and what == "block_outside":
            client.send(opened(ARENA_BYTES))
        elif kind == OPEN and what == "block_overflow":
            client.send(opened(0, 2**64 - 1))
        elif kind == OPEN:
            client.send(opened())
        elif kind == APPEND:
            client.send(message(APPENDED, sequence))
        elif kind == SEAL:
            client.send(message(SEALED, 0, struct.pack("<BBB5xQ", 1, 0, 1, 100)))
        elif kind == PROBE:
            client.send(result(sequence, rows=0, offset=0, size=0))
        elif kind in (GET_DEVICES, CALIBRATE):
            return
        elif kind == GET_STATS:
            client.send(message(STATS, 0, bytes(96 + 64 + 16)))


converse.count = 1


def main():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[sys.argv.index("--socket") + 1])
    listener.listen(8)
    os.write(2, b"READY: listening; gpus=0 device_memory=0 host_memory=1000000000 staging_memory=1000000; fake\n")
    while 0 not in (ready := select.select([0, listener], [], [])[0]):
        client, _ = listener.accept()
        with client:
            try:
                converse(client, open("misbehaviour", encoding="ascii").read().strip())
            except OSError:
                pass


main()
