"""pexpect behind JSON lines on stdio, a thread a call, in a process of its own: a pattern that never ends holds the
interpreter's lock, and would stop the clock of the benchmark, too."""

import json
import sys
import threading

import pexpect
from pexpect import replwrap

SIZE = (30, 120)
terminals = {}


def start(argv, cwd):
    # echo=False is what it offers where the echo is in the way.
    return pexpect.spawn(argv[0], argv[1:], cwd=cwd, echo=False, encoding="utf-8", dimensions=SIZE, timeout=30)


def found(child, pattern, timeout):
    return child.expect([pattern, pexpect.TIMEOUT, pexpect.EOF], timeout=timeout) == 0


def call(op, id, pattern="", timeout=5.0, text="", argv=(), cwd=None):
    child = terminals.get(id)
    match op:
        case "open":
            terminals[id] = start(argv, cwd)
        case "shell":
            terminals[id] = replwrap.bash()
        case "command":
            return {"found": pattern in child.run_command(text, timeout=timeout)}
        case "wait":
            return {"found": found(child, pattern, timeout)}
        case "send":
            child.send(text)
        case "line":
            child.sendline(text)
        case "exit":
            child.expect(pexpect.EOF, timeout=timeout)
            child.close()
            return {"code": child.exitstatus}
        case "look":
            # It has no screen; what it has is what was read and not matched yet.
            return {"text": (child.before or "") + (child.buffer or "")}
        case "close":
            child = terminals.pop(id)
            getattr(child, "child", child).close(force=True)
    return {}


lock = threading.Lock()


def answer(request):
    number = request.pop("number")
    try:
        result = call(**request)
    except Exception as error:
        result = {"error": repr(error)[:300]}
    with lock:
        print(json.dumps({"number": number, **result}), flush=True)


for line in sys.stdin:
    threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
for child in list(terminals.values()):
    getattr(child, "child", child).close(force=True)
