#!/usr/bin/env python3
"""An adapter for "mayfly serve", as an example: it speaks JSON lines with the runner, and the
daemon's own protocol (protobuf over a unix socket, one connection per request) with the daemon.
usage: adapter.py COMMAND...   e.g.  mayfly certify -target 'adapter:adapter.py mayfly serve'"""
import json, os, socket, struct, subprocess, sys, threading, time
SETTINGS = {"connect_timeout": "connect_timeout_ms", "call_timeout": "call_timeout_ms",
            "close_grace": "grace_ms", "terminate_grace": "grace_ms", "kill_grace": "grace_ms", "drain_grace": "grace_ms"}
WORDS = ["unknown", "connected", "disconnected", "failed", "connecting"]  # McpStatus
KINDS = ["unknown", "connecting", "connected", "failed", "disconnected"]  # McpEventKind
out, daemon, home, ids, flights = threading.Lock(), None, "", {}, {}
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def msg(**fields):  # f1="text" is field 1; bytes are a message in it
    b = b""
    for key, v in fields.items():
        v = v.encode() if isinstance(v, str) else v
        b += varint(int(key[1:]) << 3 | 2) + varint(len(v)) + v
    return b
def parse(b):  # field number -> list of values
    r, got = iter(b), {}
    def number(n=0, shift=0):
        x = next(r, 0)
        return n | x << shift if x < 128 else number(n | (x & 127) << shift, shift + 7)
    while key := number():
        v = number()
        if key & 7 == 2:
            v = bytes(next(r) for _ in range(v))
        got.setdefault(key >> 3, []).append(v)
    return got
def text(m, n): return m.get(n, [b""])[0].decode()
def ask(tag, body=b""):  # yields (tag, message) of each answer
    s = socket.socket(socket.AF_UNIX)
    s.connect(home + "/run/crabtalk.sock")
    frame = msg(**{"f%d" % tag: body})
    s.sendall(struct.pack(">I", len(frame)) + frame)
    with s, s.makefile("rb") as r:
        while len(head := r.read(4)) == 4:
            (tag, [body]), = parse(r.read(struct.unpack(">I", head)[0])).items()
            if tag == 1:
                e = parse(body)
                raise LookupError(e.get(1, [500])[0], text(e, 2))
            yield tag, parse(body)
def one(tag, body=b""): return next(ask(tag, body))[1]
def row(m): return {"name": text(m, 1), "status": WORDS[m.get(11, [0])[0]], "error": text(m, 12), "tools": m.get(13, [0])[0]}
def say(line):
    with out:
        print(json.dumps(line), flush=True)
def start(q):
    global daemon, home
    home = q["home"]
    lines = ['[llm]\nbase_url = "%s"\napi_key = "test"\n[mcp]\nidle_timeout = %d' % (q["model"], q["idle_timeout_ms"] // 1000)]
    open(home + "/config.toml", "w").write("\n".join(lines + ['%s = "%dms"' % (k, q[v]) for k, v in SETTINGS.items()]) + "\n")
    daemon = subprocess.Popen(sys.argv[1:] + ["-until-eof", "-home", home, "-tcp", "127.0.0.1:0"], stdin=subprocess.PIPE,
                              stdout=sys.stderr, env={**os.environ, **q.get("env", {})})
    while daemon.poll() is None:
        try:
            return ids.update({text(a, 1): text(a, 12) for a in map(parse, one(15).get(1, []))})  # of the run before
        except OSError:
            time.sleep(0.02)
    raise LookupError(500, "the daemon ended with %d" % daemon.returncode)
def declare(q):
    config = json.dumps({"model": "fake", "mcps": q["mcps"]})
    if q["agent"] in ids:
        return one(18, msg(f4=ids[q["agent"]], f2=config)) and None
    ids[q["agent"]] = text(one(17, msg(f1=q["agent"], f2=config)), 12)
def dispatch(q):
    flights[q["id"]], result = "py-%d" % q["id"], {"text": "given up", "is_error": True}
    for _, event in ask(2, msg(f1=ids[q["agent"]], f2=q["prompt"], f11=flights[q["id"]])):
        if 5 in event:
            e = parse(event[5][0])
            result = {"text": text(e, 2), "is_error": bool(e.get(4))}
        if 7 in event:
            return result
def subscribe(q):
    def follow():
        names = lambda id: next((n for n, i in list(ids.items()) if i == id), "")
        for _, e in ask(52):
            say({"event": {"agent": names(text(e, 6)), "name": text(e, 2), "kind": KINDS[e[1][0]], "error": text(e, 4)}})
    threading.Thread(target=follow, daemon=True).start()
def delete(q):
    one(*((46, msg(f1=q["name"], f2=ids[q["agent"]])) if q.get("name") else (19, msg(f2=ids.pop(q["agent"])))))
OPS = {"start": start, "declare": declare, "dispatch": dispatch, "subscribe": subscribe, "delete": delete,
       "capabilities": lambda q: {"protocol": 1, "name": "mayfly serve, through Python", "capabilities": ["restart", "rename", "cancel", "idle-timeout", "connect-timeout", "call-timeout", "grace"]},
       "stop": lambda q: (daemon.terminate(), daemon.wait()) and None,
       "upsert": lambda q: row(one(45, msg(f1=json.dumps(q["mcp"]), f2=ids[q["agent"]]))),
       "reconnect": lambda q: row(one(54, msg(f1=q["name"], f2=ids.get(q["agent"], q["agent"])))),
       "list": lambda q: {"mcps": [row(parse(m)) for m in one(13, msg(f1=ids[q["agent"]])).get(1, [])]},
       "rename": lambda q: (one(51, msg(f3=ids[q["agent"]], f2=q["to"])), ids.update({q["to"]: ids.pop(q["agent"])})) and None, "cancel": lambda q: one(57, msg(f3=flights[q["call"]])) and None}
def serve(q):
    try:
        say({"id": q["id"], "result": OPS[q["op"]](q) or {}})
    except LookupError as e:
        code, words = e.args if len(e.args) == 2 else (500, "there is no %s" % e)
        say({"id": q["id"], "error": {"code": code, "message": words}})
    except Exception as e:
        say({"id": q["id"], "error": {"code": 500, "message": "adapter.py: %r" % e}})
for line in sys.stdin:
    threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()
if daemon and daemon.poll() is None:
    daemon.terminate()
