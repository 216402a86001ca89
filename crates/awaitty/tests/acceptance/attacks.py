"""Attacks by an agent or by a program in a terminal, each of which once worked. The secrets are looked for in every answer."""

import os
import shutil
import tempfile
from contextlib import contextmanager

from commands import READ_HIDDEN, Listening, ready
from harness import PYTHON, check, connect, expect, fields, many, times

SECRET = "hunter2-geheim-4711"
OTHER = "correct-horse-0815"
STDIO = ("stdio",)  # Who types what does not depend on the transport.


@contextmanager
def secrets_file(text, mode=0o600):
    """Gives the path of a file of secrets."""
    with tempfile.TemporaryDirectory(prefix="awaitty-attack-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "secrets.toml")
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
    """No process of ours has a secret in its environment, whoever reads it."""
    text = 'other = {env = "ATTACKED_WORD"}\n'
    env = {"AWAITTY_SECRET_TOKEN": SECRET, "ATTACKED_WORD": OTHER}
    with secrets_file(text) as path:
        async with connect("--secrets", path, env=env) as s:
            listening = Listening(s)
            sid = await shell(s)
            await s.ok("run_command", session_id=sid, command="tr '\\0' '\\n' </proc/$PPID/environ")
            result = await s.ok("run_command", session_id=sid, command=f"tr '\\0' '\\n' </proc/{s.process.pid}/environ; ls -l /proc/{s.process.pid}/fd; env")
            expect("PATH=" in result["output"], "an environment to look at", result)
            for name in ("AWAITTY_SECRET", "ATTACKED_WORD"):
                expect(name not in await s.text(sid), f"no {name}", await s.text(sid))
            # Nothing is left in the memfd that handed them over.
            memfd = f"for fd in /proc/{s.process.pid}/fd/*; do case $(readlink $fd) in *awaitty-secrets*) cat $fd; echo LOOKED;; esac; done"
            fields(await s.ok("run_command", session_id=sid, command=memfd), output="LOOKED")
            listening.expect_silence(SECRET)
            listening.expect_silence(OTHER)
            # They are there all the same.
            for name in ("AWAITTY_SECRET_TOKEN", "TOKEN", "other"):
                await read_hidden(s, sid)
                fields(await s.ok("send_input", session_id=sid, secret=name, wait={"text": "GOT .*"}), outcome="met")


@check(server=False, transports=STDIO)
async def attack_variables_that_are_no_secrets():
    """Only a declared secret can be typed."""
    async with connect(env={"DATABASE_URL": SECRET}) as s:
        listening = Listening(s)
        sid = await shell(s)
        await read_hidden(s, sid)
        for name in ("DATABASE_URL", "HOME", "PATH", ""):
            await s.err(["bad_argument"], "send_input", session_id=sid, secret=name)
        listening.expect_silence(SECRET)


@check(server=False, transports=STDIO)
async def attack_by_another_program():
    """A secret that is bound to a program is typed into no other, nor into a file of the same name."""
    real = os.path.realpath(PYTHON)
    text = f'bound = {{value = "{SECRET}", only = ["{real}"]}}\n'
    text += f'named = {{value = "{SECRET}", only = ["{os.path.basename(real)}"]}}\ncat = {{value = "{SECRET}", only = ["cat"]}}\n'
    with secrets_file(text) as path, tempfile.TemporaryDirectory(prefix="awaitty-fake-") as folder:
        fake = os.path.join(folder, "cat")
        shutil.copy(shutil.which("cat"), fake)
        os.chmod(fake, 0o777)
        async with connect("--secrets", path) as s:
            listening = Listening(s)
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
            listening.expect_silence(SECRET)


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
    """A program that switches echo off and reads nothing gets no secret, which it would show later."""
    async with connect(env={"AWAITTY_SECRET_TOKEN": SECRET}) as s:
        listening = Listening(s)

        async def one(i):
            sid = await s.py(LATER, ("0.3", "0.6", "1.5")[i % 3])
            await s.up(sid, "OFF")
            await s.err(["denied"], "send_input", session_id=sid, secret="AWAITTY_SECRET_TOKEN")
            await s.wait(sid, "ON", since="screen")
            await s.send(sid, "harmless\n", wait={"text": "GOT harmless"})
            await s.ok("read_output", session_id=sid, raw=True)
            await s.close(sid)

        told = await many(times(30), 3, one)
        listening.expect_silence(SECRET)
        return told


@check(server=False, transports=STDIO)
async def attack_length_of_a_secret():
    """Neither a result nor an error tells how long a secret is."""
    async with connect(env={"AWAITTY_SECRET_TOKEN": SECRET}) as s:
        sid = await shell(s)
        await read_hidden(s, sid)
        lengths = {(await s.err(["limit_reached"], "send_input", session_id=sid, secret="TOKEN", input="x" * n))["message"] for n in (4080, 4090, 5000)}
        expect(len(lengths) == 1 and not any(c.isdigit() for c in lengths.pop()), "one message, without a number", lengths)
        result = await s.ok("send_input", session_id=sid, secret="TOKEN", input="x\n")
        fields(result, sent_bytes=2)
