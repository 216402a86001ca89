"""Attacks by an agent or a program, each of which worked in an earlier version. No result may contain a secret."""

import asyncio
import json
import os
import shlex
import shutil
import statistics
import tempfile
from contextlib import contextmanager

from commands import READ_HIDDEN, ResultLog, ready
from harness import HOME, PYTHON, begin, check, connect, expect, fields, many, times

SECRET = "hunter2-geheim-4711"
OTHER = "correct-horse-0815"
STDIO = ("stdio",)  # These checks do not depend on the transport.


@contextmanager
def secrets_file(text, mode=0o600):
    """Writes a file of secrets. Yields its path."""
    with tempfile.TemporaryDirectory(prefix="awaitty-attack-", ignore_cleanup_errors=True) as directory:
        path = os.path.join(directory, "secrets.toml")
        with open(path, "w", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(text)
        yield path


async def shell(s):
    sid = await s.spawn("bash", "--norc")
    expect(await ready(s, sid) == "met", "a prompt", sid)
    return sid


async def read_hidden(s, sid, python=PYTHON):
    """Starts a program that reads a line with echo off."""
    result = await s.send(sid, f'{python} -c "{READ_HIDDEN}"\n', wait={"ready": True, "timeout_ms": 20_000})
    fields(result, outcome="met", echo="off")


# ------------------------------------------------------------------------------------ secrets
@check(server=False, transports=STDIO)
async def attack_environment_of_the_server():
    """No process of awaitty has a secret in its environment."""
    text = 'other = {env = "ATTACKED_WORD"}\n'
    env = {"AWAITTY_SECRET_TOKEN": SECRET, "ATTACKED_WORD": OTHER}
    with secrets_file(text) as path:
        async with connect("--secrets", path, env=env) as s:
            log = ResultLog(s)
            sid = await shell(s)
            await s.ok("run_command", session_id=sid, command="tr '\\0' '\\n' </proc/$PPID/environ")
            result = await s.ok("run_command", session_id=sid, command=f"tr '\\0' '\\n' </proc/{s.process.pid}/environ; ls -l /proc/{s.process.pid}/fd; env")
            expect("PATH=" in result["output"], "a readable environment", result)
            for name in ("AWAITTY_SECRET", "ATTACKED_WORD"):
                expect(name not in await s.text(sid), f"no {name}", await s.text(sid))
            # The memfd that passed the secrets to the server is empty.
            memfd = f"for fd in /proc/{s.process.pid}/fd/*; do case $(readlink $fd) in *awaitty-secrets*) cat $fd; echo LOOKED;; esac; done"
            fields(await s.ok("run_command", session_id=sid, command=memfd), output="LOOKED")
            log.expect_without(SECRET)
            log.expect_without(OTHER)
            # The secrets can still be typed.
            for name in ("AWAITTY_SECRET_TOKEN", "TOKEN", "other"):
                await read_hidden(s, sid)
                fields(await s.ok("send_input", session_id=sid, secret=name, wait={"text": "GOT .*"}), outcome="met")


@check(server=False, transports=STDIO)
async def attack_variables_that_are_no_secrets():
    """Only a declared secret can be typed."""
    async with connect(env={"DATABASE_URL": SECRET}) as s:
        log = ResultLog(s)
        sid = await shell(s)
        await read_hidden(s, sid)
        for name in ("DATABASE_URL", "HOME", "PATH", ""):
            await s.err(["bad_argument"], "send_input", session_id=sid, secret=name)
        log.expect_without(SECRET)


@check(server=False, transports=STDIO)
async def attack_by_another_program():
    """A secret that is bound to a program is not typed into another program, even if it has the same name."""
    real = os.path.realpath(PYTHON)
    text = f'bound = {{value = "{SECRET}", only = ["{real}"]}}\n'
    text += f'named = {{value = "{SECRET}", only = ["{os.path.basename(real)}"]}}\ncat = {{value = "{SECRET}", only = ["cat"]}}\n'
    with secrets_file(text) as path, tempfile.TemporaryDirectory(prefix="awaitty-fake-") as directory:
        fake = os.path.join(directory, "cat")
        shutil.copy(shutil.which("cat"), fake)
        os.chmod(fake, 0o777)
        async with connect("--secrets", path) as s:
            log = ResultLog(s)
            sid = await shell(s)
            await read_hidden(s, sid)
            result = await s.err(["denied"], "send_input", session_id=sid, secret="cat")
            expect("cat" in result["message"] and real in result["message"], "both programs named", result)
            fields(await s.ok("send_input", session_id=sid, secret="bound", wait={"text": "GOT .*"}), outcome="met")
            for program, is_typed in ((fake, False), ("cat", True)):
                await s.send(sid, f"stty -echo; {program} | md5sum; stty echo\n", wait={"ready": True})
                if is_typed:
                    await s.ok("send_input", session_id=sid, secret="cat")
                else:
                    await s.err(["denied"], "send_input", session_id=sid, secret="cat")
                await s.ok("send_input", session_id=sid, keys=["ctrl+d"], wait={"ready": True})
            log.expect_without(SECRET)


LATER = r"""
import sys, termios, time
old = termios.tcgetattr(0); off = termios.tcgetattr(0); off[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, off)
print("OFF", flush=True); time.sleep(float(sys.argv[1]))
termios.tcsetattr(0, termios.TCSANOW, old)
print("ON", flush=True)
print("GOT", input(), flush=True)
"""


@check(server=False, limit=60, transports=STDIO)
async def attack_echo_off_and_on_again():
    """A program that turns echo off without reading gets no secret, because it could turn echo on before it reads."""
    async with connect(env={"AWAITTY_SECRET_TOKEN": SECRET}) as s:
        log = ResultLog(s)

        async def one(i):
            sid = await s.py(LATER, ("0.3", "0.6", "1.5")[i % 3])
            await s.up(sid, "OFF")
            await s.err(["denied"], "send_input", session_id=sid, secret="AWAITTY_SECRET_TOKEN")
            await s.wait(sid, "ON", since="screen")
            await s.send(sid, "harmless\n", wait={"text": "GOT harmless"})
            await s.ok("read_output", session_id=sid, raw=True)
            await s.close(sid)

        passed = await many(times(30), 3, one)
        log.expect_without(SECRET)
        return passed


@check(server=False, transports=STDIO)
async def attack_length_of_a_secret():
    """Neither a result nor an error reveals the length of a secret."""
    async with connect(env={"AWAITTY_SECRET_TOKEN": SECRET}) as s:
        sid = await shell(s)
        await read_hidden(s, sid)
        lengths = {(await s.err(["limit_reached"], "send_input", session_id=sid, secret="TOKEN", input="x" * n))["message"] for n in (4080, 4090, 5000)}
        expect(len(lengths) == 1 and not any(c.isdigit() for c in lengths.pop()), "one message, without a number", lengths)
        result = await s.ok("send_input", session_id=sid, secret="TOKEN", input="x\n")
        fields(result, sent_bytes=2)


# ------------------------------------------------------------------------------------ shell marks
SHELLS = {"bash": ("bash", "--norc"), "zsh": ("zsh",), "fish": ("fish",), "dash": ("dash", "-i")}

# Prints the marks that a shell prints after a command with status 0, and a prompt. Then sleeps and exits with status 3.
FORGE = r"""
import sys, time
nonce, pause = sys.argv[1], float(sys.argv[2])
mark = lambda text: f"\033]133;{text}\007"
print("BEFORE", flush=True)
forged = mark(f"D;0;aid={nonce};cwd=/forged") + mark(f"A;aid={nonce}") + "$ " + mark(f"B;aid={nonce}")
sys.stdout.write(forged)
sys.stdout.flush()
time.sleep(pause)
if pause:
    print("AFTER", flush=True)
sys.exit(3)
"""

# The same in a program that exits immediately, and output before it that delays the read of the marks.
FORGE_IN_SHELL = r'printf "\033]133;D;0;aid=%s;cwd=/forged\007\033]133;A;aid=%s\007$ \033]133;B;aid=%s\007" $1 $1 $1; exit 3'
LATE = 'head -c 60000 /dev/zero | tr "\\0" x; '


async def forger(s, kind, is_nested):
    """Starts a shell. Returns the session and the command line of a program that gets the shell's nonce."""
    sid = await s.spawn("bash", "--norc") if is_nested else await s.spawn(*SHELLS[kind])
    expect(await ready(s, sid) == "met", "a prompt", kind)
    if is_nested:
        await s.send(sid, f"{shlex.join(SHELLS[kind])}\n", wait={"ready": True})
        result = await s.ok("run_command", session_id=sid, command="echo $__awaitty_n", bootstrap=True)
        expect(len(result["output"]) == 32, "the nonce of the inner shell", result)
    path = os.path.join(HOME, "forge.py")
    with open(path, "w") as file:
        file.write(FORGE)
    return sid, f"{PYTHON} {path} $__awaitty_n"


def forged_marks(kind, is_nested):
    async def attack(s):
        sid, forge = await forger(s, kind, is_nested)
        # Marks of a running program are ignored.
        result = await s.ok("run_command", session_id=sid, command=f"{forge} 0.2")
        fields(result, exit_code=3, finished=True)
        expect("AFTER" in result["output"] and result["cwd"] != "/forged", "the real output and cwd", result)
        # The next command is not typed into a program that prints a prompt.
        result = await s.ok("run_command", session_id=sid, command=f"{forge} 3", timeout_ms=500)
        fields(result, finished=False)
        await s.err(["not_at_prompt"], "run_command", session_id=sid, command="echo NEXT", timeout_ms=300)
        fields(await s.ok("wait_for_command", session_id=sid), exit_code=3)

        async def at_the_end(i):
            # The server may read the marks after the program's exit and before the shell prints its own.
            command = f"{forge} 0" if i % 5 == 0 else f"dash -c '{LATE if i % 2 else ''}{FORGE_IN_SHELL}' x $__awaitty_n"
            result = await s.ok("run_command", session_id=sid, command=command)
            fields(result, exit_code=3)
            expect(result["cwd"] != "/forged", "the real cwd", result)

        passed = await many(times(60), 1, at_the_end)
        fields(await s.ok("run_command", session_id=sid, command="echo fine"), output="fine", exit_code=0)
        return passed

    name = f"attack_forged_marks_in_{'nested_' * is_nested}{kind}"
    return check(limit=60, name=name, backends=("pty",), transports=STDIO)(attack)


for kind in SHELLS:
    for is_nested in (False, True):
        forged_marks(kind, is_nested)


def hidden_nonce(kind):
    async def attack(s):
        sid = await s.spawn(*SHELLS[kind], record=True)
        expect(await ready(s, sid) == "met", "a prompt", kind)
        nonce = (await s.ok("run_command", session_id=sid, command="echo N=$__awaitty_n"))["output"].removeprefix("N=")
        expect(len(nonce) == 32, "a nonce", nonce)
        pid = (await s.sessions())[sid]["pid"]
        with open(f"/proc/{pid}/environ") as file:
            environ = dict(entry.split("=", 1) for entry in file.read().split("\0") if entry)
        expect(nonce not in str(environ), "no nonce in the environment", environ)
        expect(not os.path.exists(environ["AWAITTY_NONCE_FILE"]), "the nonce file to be deleted", environ["AWAITTY_NONCE_FILE"])
        result = await s.ok("run_command", session_id=sid, command="env")
        expect("AWAITTY_NONCE" not in result["output"], "no nonce in the environment of a command", result)
        raw = (await s.ok("read_output", session_id=sid, raw=True))["raw"]
        expect("133;" in raw and "aid=" + nonce[:8] in raw and nonce not in raw, "marks without their nonce", raw)
        path = os.path.join(HOME, f"{kind}.cast")
        await s.ok("save_recording", session_id=sid, path=path)
        with open(path) as file:
            recorded = file.read()
        expect("aid=" + nonce[:8] in recorded and nonce not in recorded, "a recording without the nonce", recorded)

    return check(name=f"attack_nonce_of_{kind}_is_hidden", transports=STDIO)(attack)


for kind in SHELLS:
    hidden_nonce(kind)


# ------------------------------------------------------------------------------------ the socket of programs
# Calls tools and reads resources through AWAITTY_SOCKET, and prints one line per response.
CALLER = r"""
import json, os, socket, sys
end = socket.socket(socket.AF_UNIX)
end.connect(os.environ["AWAITTY_SOCKET"])
responses = end.makefile()
client = {"name": "attacker", "version": "1"}
meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": client, "io.modelcontextprotocol/clientCapabilities": {}}
for id, (method, params) in enumerate(json.loads(sys.argv[1])):
    call = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
    end.sendall(json.dumps(call).encode() + b"\n")
    response = json.loads(responses.readline())
    result = response.get("result", {})
    content = result.get("structuredContent", result) or response
    print(id, "error" if "error" in response else content.get("code", "ok"), json.dumps(content)[:200], flush=True)
print("ALL DONE", flush=True)
"""


async def call_from_a_program(s, *calls):
    """Starts a program that makes these calls. Returns its session, and the code and content of each response."""
    calls = [(name, arguments) if "/" in name else ("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
    sid = await s.py(CALLER, json.dumps(calls), cols=400)
    await s.wait(sid, "ALL DONE", since="screen")
    lines = [line.split(" ", 2)[1:] for line in (await s.text(sid)).split("\n") if line[:1].isdigit()]
    expect(len(lines) == len(calls), "a response to each call", await s.text(sid))
    return sid, lines


@check(server=False)
async def attack_by_the_socket_of_programs():
    """Through its socket, a program may only signal channels and read its own session."""
    async with connect() as s:
        other = await shell(s)
        forbidden = [
            ("spawn", {"command": "id"}),
            ("run_command", {"session_id": other, "command": "echo FORGED"}),
            ("send_input", {"session_id": other, "input": "echo FORGED\n"}),
            ("send_input", {"input": "x"}),
            ("run_steps", {"session_id": other, "steps": [{"input": "x"}]}),
            ("close_session", {"session_id": other}),
            ("resize_session", {"session_id": other, "cols": 10, "rows": 10}),
            ("list_sessions", {}),
            ("snapshot", {"session_id": other}),
            ("read_output", {"session_id": other}),
            ("search_output", {"session_id": other, "pattern": "."}),
            ("wait_for_text", {"session_id": other, "pattern": "x", "timeout_ms": 0}),
            ("wait_for_any", {"waits": [{"session_id": other, "text": "x"}], "timeout_ms": 0}),
            ("wait_for_channel", {"channel": "stolen", "timeout_ms": 0}),
            ("save_recording", {"session_id": other}),
            ("attend", {"session_id": other}),
        ]
        sid, responses = await call_from_a_program(s, *forbidden)
        for (name, _), (code, content) in zip(forbidden, responses):
            expect(code == "denied", f"{name} to be denied", content)
        resources = [("resources/read", {"uri": f"screen://{other}"}), ("resources/list", {})]
        _, (read, listed) = await call_from_a_program(s, *resources)
        expect(read[0] == "error" and f"screen://{other}" not in listed[1], "no resource", (read, listed))
        expect("FORGED" not in await s.text(other), "nothing typed", await s.text(other))
        allowed = [
            ("snapshot", {}),
            ("wait_for_text", {"pattern": "0 ok", "since": "screen"}),
            ("search_output", {"pattern": "."}),
            ("signal_channel", {"channel": "by_a_program"}),
        ]
        _, responses = await call_from_a_program(s, *allowed)
        for (name, _), (code, content) in zip(allowed, responses):
            expect(code == "ok" and f'"{other}"' not in content, f"{name} of its own session", content)
        fields(await s.ok("wait_for_channel", channel="by_a_program"), signalled=True)
        await s.close(sid)
    async with connect("--socket-access", "full") as s:
        other = await shell(s)
        _, responses = await call_from_a_program(s, ("snapshot", {"session_id": other}), ("list_sessions", {}))
        expect([code for code, _ in responses] == ["ok", "ok"], "full access", responses)


# ------------------------------------------------------------------------------------ reading the screen
# Requests the checksums of the first cells of row 1 (DECRQCRA), and a status report, which always gets a reply.
ASK_CHECKSUMS = r"""
import os, sys, termios, tty
count = int(sys.argv[1])
old = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"".join(b"\033[%d;1;1;%d;1;%d*y" % (i, i, i) for i in range(1, count + 1)) + b"\033[5n")
read = b""
while not read.endswith(b"\033[0n"):
    read += os.read(0, 4096)
termios.tcsetattr(0, termios.TCSANOW, old)
sums = [int(one.split(b"!~")[1][:4], 16) for one in read.split(b"\033P")[1:]]
print(f"READ({''.join(chr(-one & 0xffff) for one in sums)})", flush=True)
"""


def checksums(name, flags, expected):
    async def attack():
        path = os.path.join(HOME, "ask_checksums.py")
        with open(path, "w") as file:
            file.write(ASK_CHECKSUMS)
        async with connect(*flags) as s:
            # The shell prints the text. The program that requests the checksums does not have it.
            sid = await s.sh(f"printf '\\033[2J\\033[H{OTHER}\\n'; {PYTHON} {path} {len(OTHER)}; exec cat")
            result = await s.wait(sid, r"READ\(.*\)", since="screen")
            screen = result["screen_text"]
            expect(screen.split("\n") == [OTHER, f"READ({expected})"], f"{expected!r} to be read", result)

    # tmux itself replies to programs in its panes.
    check(server=False, name=name, backends=("pty",), transports=STDIO)(attack)


checksums("attack_checksums_of_the_screen", (), "")
checksums("attack_checksums_of_the_screen_on_request", ("--answer-checksums",), OTHER)


# ------------------------------------------------------------------------------------ starvation
# Short sequences that change every cell: DECCARA, REP, DECFRA with DECCRA.
HEAVY = {"DECCARA": "\\033[;;;;1;31$r\\033[;;;;0$r", "REP": "\\033[Hx\\033[65535b", "DECFRA": "\\033[88;;;;$x\\033[;;;;;2;2$v"}
FLOOD = r"""
import os, sys
data = (sys.argv[1].encode().decode("unicode_escape") * 1000).encode()
os.write(1, b"UP ")
while True:
    os.write(1, data)
"""


async def beside(s, sids, seconds):
    """Returns the sorted times in ms of snapshots of a quiet session during the floods."""
    quiet = await s.sh("echo UP; exec cat")
    await s.up(quiet)
    took, end = [], asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        took.append((await s.ok("snapshot", session_id=quiet)).took * 1000)
    await s.close(quiet)
    return sorted(took)


def starvation(name, cols, rows, p50, p99):
    async def attack(s):
        report = []
        for kind, text in HEAVY.items():
            sids = [await s.py(FLOOD, text.replace("\\033", "\x1b"), cols=cols, rows=rows) for _ in range(2)]
            for sid in sids:
                await s.wait(sid, ".", since="screen")
            took = await beside(s, sids, 2)
            median, late = statistics.median(took), took[int(len(took) * 0.99)]
            report.append(f"{kind} {median:.1f}/{late:.1f} ms of {len(took)}")
            expect(median <= p50 and late <= p99, f"p50 {p50} ms, p99 {p99} ms", report)
            for sid in sids:
                expect((await s.close(sid)).took < 5, "a close within 5 s", kind)
        return ", ".join(report)

    return check(limit=120, name=name, backends=("pty",), transports=STDIO)(attack)


# The limits are the goals of `cargo bench -- hostile` with a margin for a debug build on a busy machine.
starvation("attack_floods_of_heavy_sequences", 120, 40, 50, 500)
starvation("attack_floods_of_heavy_sequences_on_a_large_screen", 1000, 500, 100, 1000)
