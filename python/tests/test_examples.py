"""The examples run, and so do those of the docstrings."""

import asyncio
import doctest
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

import situ
import situ._blackboard
import situ._execute
import situ._node
import situ._service
import situ._topic
import situ._types
import situ.trace

COMMAND = os.environ.get("SITU_COMMAND", "")
EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def start(name, *arguments):
    return subprocess.Popen([sys.executable, str(EXAMPLES / name), *map(str, arguments)])


def test_a_camera_and_a_detector(node):
    pytest.importorskip("numpy")
    boxes = node.subscriber("boxes", type="demo::Boxes", schema=EXAMPLES / "camera.idl")
    detector, camera = start("detector.py", 3), None
    try:
        camera = start("camera.py", 50)
        got = [boxes.recv(60) for _ in range(3)]
    finally:
        for process in (detector, camera):
            if process is not None:
                process.terminate() if process.poll() is None else None
                process.wait()
    for message in got:
        (box,) = message.boxes
        assert (box["top"], box["bottom"]) == (100, 150) and box["right"] - box["left"] == 80
        assert box["left"] == message.image % 500


def test_the_service(root, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import service

    thread = threading.Thread(target=service.serve, args=(2,))
    thread.start()
    assert service.call(0.5) is True
    with pytest.raises(situ.RefusedError, match="from 0 to 1"):
        service.call(2.0)
    thread.join()


def test_the_web(node, schema, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import web

    publisher = node.publisher("p", type="t::Point", schema=schema)

    async def main():
        async with await web.serve(node, "p") as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            while not publisher.subscribers:
                await asyncio.sleep(0.002)
            publisher.publish(x=1.5)
            line = await asyncio.wait_for(reader.readline(), 60)
            publisher.close(), node.close()
            writer.close()
            return json.loads(line)

    assert asyncio.run(main()) == {"x": 1.5, "y": 0.0}


@pytest.mark.parametrize(
    "module", [situ, situ._blackboard, situ._execute, situ._node, situ._topic, situ._types, situ.trace], ids=lambda it: it.__name__
)
def test_docstrings(module, root):
    schema = situ.Schema(text="module t { @flat struct Point { double x; double y; }; };")
    with situ.Node("documented") as node:
        publisher = node.publisher("p", type="t::Point", schema=schema)
        subscriber = node.subscriber("p")
        team = situ.Schema(text="@region struct Team { string name; sequence<string> names; map<string, long> ages; };")
        teams = node.publisher("teams", type="Team", schema=team)
        waits = situ.WaitSet(node)
        waits.attach(subscriber)
        names = dict(situ=situ, node=node, teams=teams, publisher=publisher, subscriber=subscriber, waits=waits, Point=schema.find("t/Point").cls)
        finder = doctest.DocTestFinder()
        for test in finder.find(module, module.__name__, extraglobs=names):
            while (message := subscriber.take()) is not None:
                message.release()
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test)
            assert runner.failures == 0, test.name


def test_the_blackboard_of_the_book(node, capsys):
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "src" / "blackboard.md"
    code = page.read_text().split("```python\n")[1].split("```")[0]
    Pose = situ.Schema(text="@flat struct Pose { double x; double y; double heading; };").find("Pose").cls
    names = dict(node=node, Pose=Pose)
    exec(code, names)
    assert capsys.readouterr().out == "0.6 None\n" and names["version"] == 3 and names["arm"].y == 0.25


def test_the_page_of_the_book(root, tmp_path, monkeypatch):
    """Runs the programs of the page *Python*, each block of code as the file that stands before it."""
    pytest.importorskip("numpy")
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "src" / "tutorial-python.md"
    files, blocks = {}, page.read_text().split("```")
    for text, code in zip(blocks[::2], blocks[1::2]):
        lines = [line for line in text.strip().splitlines() if line]
        found = re.search(r"`([\w./]+\.(?:py|idl|srv))`:$", lines[-1]) if lines else None
        if found:
            files[found.group(1)] = code.partition("\n")[2]
    programs = {"publisher.py", "subscriber.py", "server.py", "client.py", "till_server.py", "till_client.py", "board.py"}
    assert set(files) == programs | {"robot.idl", "calc/srv/Add.srv", "typed.py", "till.idl", "team.idl"}
    for name, body in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(body)

    def output(background, program):
        process = subprocess.Popen([sys.executable, background], cwd=tmp_path)
        try:
            command = [sys.executable, program]
            return subprocess.run(command, cwd=tmp_path, timeout=100, capture_output=True, text=True, check=True).stdout
        finally:
            process.terminate()
            process.wait()

    assert "1080 rays" in output("publisher.py", "subscriber.py")
    board = subprocess.run([sys.executable, "board.py"], cwd=tmp_path, timeout=100, capture_output=True, text=True, check=True)
    assert board.stdout == "draw [1.0, 2.5] {'Adam': 0, 'Eve': 3} 101\n"
    assert output("server.py", "client.py") == "3\n"
    assert output("till_server.py", "till_client.py") == "1.5 3.5\nClosedError Adam is too late\n"
    if COMMAND:
        generate = [COMMAND, "gen", "--lang", "python", "--out", ".", "--namespace", "generated", "robot.idl"]
        subprocess.run(generate, cwd=tmp_path, check=True)
        typed = [sys.executable, "typed.py"]
        shown = subprocess.run(typed, cwd=tmp_path, timeout=100, capture_output=True, text=True, check=True).stdout
        assert shown == "MOVING [1. 2. 3.]\n"
