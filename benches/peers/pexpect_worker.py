"""pexpect behind lines of JSON on stdio, with a thread per call. In a separate process, because a slow pattern holds
the interpreter lock and would stop the clock of the benchmark."""

import json
import sys
import threading

import pexpect
from pexpect import replwrap

SIZE = (30, 120)
terminals = {}


def start(argv, cwd):
    # echo=False is pexpect's way to avoid matches in the echo.
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
            # pexpect has no screen, only the output that is not matched yet.
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
