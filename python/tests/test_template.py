"""The project that `situ new --lang python` writes, by the commands of its README."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

COMMAND = os.environ.get("SITU_COMMAND", "")


@pytest.mark.skipif(not COMMAND, reason="SITU_COMMAND does not name the command `situ`")
def test_the_project_runs(root, tmp_path):
    path = os.pathsep.join([os.path.dirname(COMMAND), os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = dict(os.environ, PATH=path, PYTHONUNBUFFERED="1")

    def run(command, folder=tmp_path):
        return subprocess.run(["bash", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=True)

    written = run("situ new my_robot --lang python").stdout
    assert "python3 subscriber.py\n  python3 publisher.py" in written
    project = tmp_path / "my_robot"
    build, start = re.findall(r"```sh\n(.*?)```", (project / "README.md").read_text(), re.S)
    run(build, project)
    assert (project / "generated" / "my_robot" / "__init__.pyi").exists()
    # Again, with nothing to do; and no type of an earlier file is lost.
    assert "0 file(s) written" in run(build, project).stdout
    (project / "messages.idl").write_text("module my_robot { @flat struct Other { long x; }; };")
    with pytest.raises(subprocess.CalledProcessError) as error:
        run(build, project)
    assert "would lose: Pose" in error.value.stderr

    programs = []
    try:
        for line in start.split("\n")[:2]:
            log = open(tmp_path / f"{len(programs)}.log", "w+")
            programs.append((subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=project, env=environment, stdout=log, stderr=log), log))
        text = pathlib.Path(programs[0][1].name)
        end = time.monotonic() + 120
        while "pose 3: x = " not in text.read_text():
            assert time.monotonic() < end and programs[0][0].poll() is None, text.read_text()
            time.sleep(0.02)
        for program, _ in programs:
            program.send_signal(signal.SIGINT)
        for program, log in programs:
            assert program.wait(60) == 0
            assert pathlib.Path(log.name).read_text().splitlines()[-1] == "done"
    finally:
        for program, log in programs:
            program.kill()
            program.wait()
            log.close()
