#!/usr/bin/env python3
"""A gpujoin_server that misbehaves: it speaks the protocol up to a point and then does what the file "misbehaviour" in
the data directory says, STAGE or STAGE:WHAT. For the tests that no answer of a server can crash a backend, and that a
server which does not answer, or cannot be killed, is replaced. "moved" is no misbehaviour: its joins have moved to the
CPU since they were sealed. Further words in the file, when it starts:

    outlive      a child serves, so that connections stay open when this process is killed
    unreapable   besides, the child traces this process, which so remains in the process table when it was killed
    slow         the same, for six seconds

Layout of messages: src/wire/message.h.
"""
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

MAGIC, VERSION = 0x4E4A5047, 2
BUILD = [0]  # as in the messages that come
(HELLO, WELCOME, OPEN, OPEN_PART, ATTACH, OPENED, RESERVE, GRANT, RELEASE, APPEND, APPENDED, SEAL, SEALED, PROBE, RESULT,
 SKIP, MARK_MATCHED, MARKED, SCAN_BUILD, FLUSH, REWIND, REWOUND, GET_STATS, STATS, GET_DEVICES, DEVICES, CALIBRATE, PING,
 PONG, FIND_KEPT, FOUND_KEPT, MAKE_KEPT, APPEND_KEPT, SEAL_KEPT, RENEW_KEPT, PROBE_KEPT, BUILD_KEPT, GET_KEPT, FORGET_KEPT,
 KEPT_TABLES, FOUND_CHUNKS, FAILED) = range(1, 43)
STAGES = {"hello": HELLO, "open": OPEN, "append": APPEND, "seal": SEAL, "probe": PROBE, "devices": GET_DEVICES, "ping": PING}
HEADER = struct.Struct("<IHHIIQQQ")
REPLICAS = 16  # kMaxReplicas
DEVICES_BYTES = 48 + 32 * (8 + 64 + 160 + 8 + 32 + 8 + 5 * 8)
ARENA_BYTES, BLOCK, NONE = 16 << 20, 1 << 20, 2**64 - 1
HASH, NESTED_LOOP = 1, 4


def message(kind, sequence=0, body=b"", magic=MAGIC, version=VERSION, size=None, session=7, build=0, stage=0):
    size = HEADER.size + len(body) if size is None else size
    return HEADER.pack(magic, version, kind, size, stage, BUILD[0] ^ build, session, sequence) + body


def misbehaviour():
    try:
        with open("misbehaviour", encoding="ascii") as file:
            return file.read().split() or [""]
    except OSError:
        return [""]


def arena(seals=fcntl.F_SEAL_SHRINK if hasattr(fcntl, "F_SEAL_SHRINK") else 2):
    memory = os.memfd_create("fake", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, ARENA_BYTES)
    if seals:
        fcntl.fcntl(memory, 1033, seals)  # F_ADD_SEALS
    return memory


def opened(offset=0, size=BLOCK):
    blocks = struct.pack("<QQQQ", offset, size, offset + BLOCK, size)
    return message(OPENED, 0, b"s" * 16 + blocks + b"GPU 0: fake".ljust(64, b"\0"))


def stats(device, algorithm, moved):
    join = struct.pack("<7Q3d2Q2B6x64s", *[0] * 12, algorithm, moved, device.encode())
    return message(STATS, 0, join + struct.pack("<5QdQ", *[0] * 7) + bytes(16 * REPLICAS))


def sealed(stage=0):
    return message(SEALED, 0, struct.pack("<BB6xQ", HASH, 0, 100), stage=stage)


def result(sequence, rows=1, offset=4 * BLOCK, size=BLOCK, probe_rows=0, columns=(), last=1, moved=0):
    buffers = b"".join(struct.pack("<QQQQ", *column) for column in columns)
    body = struct.pack("<QQIHBBQQII", offset, size, rows, len(columns), last, 0, probe_rows, NONE, 0, moved)
    return message(RESULT, sequence, body + buffers)


# What to send instead of an answer, by the message it answers; each also gets the request's sequence number.
NONSENSE = {
    "short": lambda s: b"\0\0",
    "magic": lambda s: message(WELCOME, s, bytes(24), magic=1),
    "version": lambda s: message(WELCOME, s, bytes(24), version=999),
    "build": lambda s: message(WELCOME, s, bytes(24), build=1),
    "size": lambda s: message(WELCOME, s, bytes(24), size=12),
    "type": lambda s: message(99, s),
    "long": lambda s: bytes(120 << 10),
    "unasked": lambda s: message(GRANT, s, bytes(16)),
    "devices": lambda s: message(DEVICES, s, struct.pack("<I", 4000) + bytes(9300)),
    "ghost_append": lambda s: message(APPENDED, 12345),
    "ghost_result": lambda s: result(12345),
    "ghost_stage": lambda s: sealed(stage=1),
    "staged": lambda s: message(APPENDED, s, stage=1),
    "shortage": lambda s: message(FAILED, 0, b"\1" + b"53000".ljust(6, b"\0") + b"out of something".ljust(1024, b"\0")),
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


def converse(client):
    """One connection."""
    while packet := client.recv(200 << 10):
        stage, _, what = misbehaviour()[0].partition(":")
        nonsense = {**NONSENSE, **RESULTS}.get(what)
        _, _, kind, _, _, BUILD[0], _, sequence = HEADER.unpack_from(packet)
        here = STAGES.get(stage) == kind
        if here and what == "silent":
            continue
        if here and what == "close":
            return
        if here and nonsense:
            client.send(nonsense(sequence))
        elif kind == HELLO:
            memory = arena(0 if what == "unsealed" else 2)
            arena_bytes = ARENA_BYTES * (4 if what == "too_small" else 1)
            welcome = message(WELCOME, 0, struct.pack("<QQQ", os.getpid() << 20 | converse.count, arena_bytes, BLOCK))
            converse.count += 1
            if what == "no_descriptor":
                client.send(welcome)
            else:
                socket.send_fds(client, [welcome], [memory, memory] if what == "two_descriptors" else [memory])
            os.close(memory)
        elif kind == OPEN and what == "block_outside":
            client.send(opened(ARENA_BYTES))
        elif kind == OPEN and what == "block_overflow":
            client.send(opened(0, 2**64 - 1))
        elif kind == OPEN:
            with open("opened_for", "w", encoding="ascii") as file:  # the query, as OpenBody has it
                file.write(str(struct.unpack_from("<IIQqQ", packet, HEADER.size)[3]))
            client.send(opened())
        elif kind == APPEND:
            client.send(message(APPENDED, sequence))
        elif kind == SEAL:
            client.send(sealed())
        elif kind == PROBE:
            client.send(result(sequence, rows=0, offset=0, size=0, moved=stage == "moved"))
        elif kind in (GET_DEVICES, CALIBRATE):
            client.send(message(DEVICES, sequence, bytes(DEVICES_BYTES)))
        elif kind == PING:
            client.send(message(PONG, sequence))
        elif kind == GET_STATS:
            client.send(stats("CPU: fake", NESTED_LOOP, 1) if stage == "moved" else stats("GPU 0: fake", HASH, 0))


converse.count = 1


def serve(client):
    with client:
        try:
            converse(client)
        except OSError:
            pass


def end_after(process):
    """Ends this process six seconds after that one, which may then be reaped."""
    while " Z" not in open(f"/proc/{process}/stat", encoding="ascii").read():
        time.sleep(0.1)
    time.sleep(6)
    os._exit(0)


def trace(process):
    """So that the process, when it ends, is this one's to reap before it is its parent's."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    seized = libc.ptrace(0x4206, process, None, None) == 0  # PTRACE_SEIZE
    with open("traced", "w", encoding="ascii") as file:
        file.write("yes" if seized else "no")


def leave_to_child(words):
    """Has a child do the serving. This process waits to be killed; the child ends by itself in the end."""
    is_traced = not {"unreapable", "slow"}.isdisjoint(words)
    if is_traced:
        ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)  # PR_SET_PTRACER, any
    parent = os.getpid()
    if os.fork() != 0:
        while True:
            signal.pause()
    signal.alarm(120)
    if is_traced:
        trace(parent)
    if "slow" in words:
        threading.Thread(target=end_after, args=(parent,), daemon=True).start()


def main():
    words = misbehaviour()
    if words[0] == "start:silent":
        signal.pause()
    outlives = not {"outlive", "unreapable", "slow"}.isdisjoint(words)
    if outlives:
        leave_to_child(words)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[sys.argv.index("--socket") + 1])
    listener.listen(8)
    os.write(2, b"READY: listening\n")
    while 0 not in (ready := select.select([listener] if outlives else [0, listener], [], [])[0]):
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


main()
