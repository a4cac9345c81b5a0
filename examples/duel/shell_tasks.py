"""The shell tasks: 16 families of 3, each family with one worked task that is shown and never set.

A task is a sentence, the files that are there, what has to be true at the end, and one command that makes it so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from checks import Check


class Step(NamedTuple):
    """One reply of a worked task: why, what and the command."""

    why: str
    what: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task that an agent is set.

    Args:
        name: The family and a number from 1; unique among all tasks.
        text: What the agent reads.
        checks: What has to be true at the end.
        solution: One command that solves it.
        files: The text of each file that is there at the start, by name.
    """

    name: str
    text: str
    checks: tuple[Check, ...]
    solution: str
    files: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """One task with the replies that solve it; what the shell answers to them is got by running them."""

    task: Task
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One kind of task."""

    name: str
    worked: Worked
    tasks: tuple[Task, ...]


class _Case(NamedTuple):
    text: str
    files: Mapping[str, str]
    checks: tuple[Check, ...]
    solution: str


def build_families() -> tuple[Family, ...]:
    """Every family, in the order in which they are recorded."""
    return (
        *_build_writing(),
        *_build_picking(),
        *_build_cutting(),
        *_build_moving(),
        *_build_joining(),
        *_build_changing(),
        *_build_counting(),
    )


def _family(name: str, steps: tuple[Step, ...], shown: _Case, *cases: _Case) -> Family:
    return Family(
        name=name,
        worked=Worked(task=_task(f"{name}-0", shown), steps=steps),
        tasks=tuple(_task(f"{name}-{number}", case) for number, case in enumerate(cases, start=1)),
    )


def _task(name: str, case: _Case) -> Task:
    return Task(name=name, text=case.text, files=case.files, checks=case.checks, solution=case.solution)


def _list_then(*do: str) -> tuple[Step, ...]:
    return Step("I do not know the files yet.", "I list the files.", "ls"), Step(*do)


def _read_then(path: str, *do: str) -> tuple[Step, ...]:
    return Step(f"I do not know {path} yet.", f"I read {path}.", f"cat {path}"), Step(*do)


def _lines(words: str) -> str:
    return "".join(f"{word}\n" for word in words.split())


def _build_writing() -> tuple[Family, ...]:
    def write(word: str, path: str) -> _Case:
        return _Case(
            f"write the word {word} to the file {path}.", {}, (Check(path=path, text=word),), f"echo {word} > {path}"
        )

    def add(word: str, path: str, before: str) -> _Case:
        return _Case(
            f"add the word {word} at the end of the file {path}.",
            {path: _lines(before)},
            (Check(path=path, text=_lines(f"{before} {word}")),),
            f"echo {word} >> {path}",
        )

    def make(path: str) -> _Case:
        return _Case(f"make a folder {path}.", {}, (Check(path=path, folder=True),), f"mkdir {path}")

    return (
        _family(
            "write",
            _list_then("sky.txt does not exist yet.", "I write moon to sky.txt.", "echo moon > sky.txt"),
            write("moon", "sky.txt"),
            write("hello", "greeting.txt"),
            write("blue", "color.txt"),
            write("bread", "shop.txt"),
        ),
        _family(
            "append",
            _read_then("bag.txt", "bag.txt has no pen yet.", "I add pen to bag.txt.", "echo pen >> bag.txt"),
            add("pen", "bag.txt", "book key"),
            add("plum", "fruit.txt", "pear fig"),
            add("rome", "cities.txt", "oslo lima bern"),
            add("four", "numbers.txt", "one two three"),
        ),
        _family(
            "folder",
            _list_then("There is no folder music yet.", "I make the folder music.", "mkdir music"),
            make("music"),
            make("photos"),
            make("reports"),
            make("backup"),
        ),
    )


def _build_picking() -> tuple[Family, ...]:
    def pick(word: str, path: str, target: str, lines: tuple[str, ...]) -> _Case:
        return _Case(
            f"copy the lines of {path} that contain {word} to {target}.",
            {path: "\n".join(lines) + "\n"},
            (Check(path=target, text="\n".join(line for line in lines if word in line)),),
            f"grep {word} {path} > {target}",
        )

    def first(path: str, target: str, words: str) -> _Case:
        return _Case(
            f"write the first line of {path} to {target}.",
            {path: _lines(words)},
            (Check(path=target, text=words.split()[0]),),
            f"head -n 1 {path} > {target}",
        )

    return (
        _family(
            "pick",
            _read_then("things.txt", "Some lines contain red.", "I pick them out.", "grep red things.txt > red.txt"),
            pick("red", "things.txt", "red.txt", ("red car", "blue sky", "red rose")),
            pick("cat", "pets.txt", "cats.txt", ("old cat", "big dog", "small cat")),
            pick("error", "log.txt", "errors.txt", ("start ok", "error disk full", "stop ok")),
            pick("tea", "orders.txt", "tea.txt", ("tea with milk", "coffee", "green tea", "water")),
        ),
        _family(
            "first",
            _list_then("I need the top of list.txt.", "I write it to top.txt.", "head -n 1 list.txt > top.txt"),
            first("list.txt", "top.txt", "salt oil rice"),
            first("queue.txt", "next.txt", "anna omar lee"),
            first("steps.txt", "begin.txt", "wash cut cook eat"),
            first("names.txt", "winner.txt", "maya tom ivan"),
        ),
    )


def _build_cutting() -> tuple[Family, ...]:
    def last(path: str, target: str, words: str) -> _Case:
        return _Case(
            f"write the last line of {path} to {target}.",
            {path: _lines(words)},
            (Check(path=target, text=words.split()[-1]),),
            f"tail -n 1 {path} > {target}",
        )

    def column(what: str, path: str, target: str, rows: str) -> _Case:
        return _Case(
            f"{path} holds {what} and a number in each line, with a comma between. Write each {what} to {target}.",
            {path: _lines(rows)},
            (Check(path=target, text=_lines(" ".join(row.split(",")[0] for row in rows.split()))),),
            f"cut -d, -f1 {path} > {target}",
        )

    return (
        _family(
            "last",
            _read_then("days.txt", "I need the end of days.txt.", "I write it down.", "tail -n 1 days.txt > end.txt"),
            last("days.txt", "end.txt", "monday tuesday friday"),
            last("log.txt", "final.txt", "start load stop"),
            last("towns.txt", "south.txt", "york bath dover"),
            last("scores.txt", "latest.txt", "12 15 11 19"),
        ),
        _family(
            "column",
            _read_then("ages.txt", "The name comes first.", "I cut it out.", "cut -d, -f1 ages.txt > names.txt"),
            column("name", "ages.txt", "names.txt", "ada,36 bob,41"),
            column("fruit", "prices.txt", "fruits.txt", "pear,3 fig,5 plum,2"),
            column("city", "people.txt", "cities.txt", "oslo,7 lima,10"),
            column("team", "table.txt", "teams.txt", "reds,12 blues,9 greens,4"),
        ),
    )


def _build_moving() -> tuple[Family, ...]:
    def rename(old: str, new: str, text: str) -> _Case:
        return _Case(
            f"rename the file {old} to {new}.",
            {old: f"{text}\n"},
            (Check(path=new, text=text), Check(path=old, gone=True)),
            f"mv {old} {new}",
        )

    def copy(old: str, new: str, text: str) -> _Case:
        return _Case(
            f"copy the file {old} to {new}.",
            {old: f"{text}\n"},
            (Check(path=new, text=text), Check(path=old, text=text)),
            f"cp {old} {new}",
        )

    return (
        _family(
            "rename",
            _list_then("a.txt has the wrong name.", "I rename a.txt to b.txt.", "mv a.txt b.txt"),
            rename("a.txt", "b.txt", "letter"),
            rename("draft.txt", "final.txt", "my text"),
            rename("old.log", "new.log", "all good"),
            rename("todo.txt", "done.txt", "clean room"),
        ),
        _family(
            "copy",
            _read_then("plan.txt", "There is no copy yet.", "I copy it to plan2.txt.", "cp plan.txt plan2.txt"),
            copy("plan.txt", "plan2.txt", "go north"),
            copy("notes.txt", "backup.txt", "call mum"),
            copy("song.txt", "copy.txt", "la la la"),
            copy("config.ini", "config.old", "speed=3"),
        ),
    )


def _build_joining() -> tuple[Family, ...]:
    def remove(path: str, kept: str) -> _Case:
        return _Case(
            f"remove the file {path} and keep {kept}.",
            {path: "old\n", kept: "new\n"},
            (Check(path=path, gone=True), Check(path=kept, text="new")),
            f"rm {path}",
        )

    def join(one: str, two: str, both: str) -> _Case:
        return _Case(
            f"join {one} and {two} into {both}.",
            {one: "first part\n", two: "second part\n"},
            (Check(path=both, text="first part\nsecond part"),),
            f"cat {one} {two} > {both}",
        )

    return (
        _family(
            "remove",
            _list_then("trash.txt is still there.", "I remove trash.txt.", "rm trash.txt"),
            remove("trash.txt", "home.txt"),
            remove("temp.txt", "data.txt"),
            remove("junk.log", "main.log"),
            remove("old.csv", "new.csv"),
        ),
        _family(
            "join",
            _list_then("There are two parts.", "I join them into all.txt.", "cat one.txt two.txt > all.txt"),
            join("one.txt", "two.txt", "all.txt"),
            join("head.txt", "body.txt", "letter.txt"),
            join("left.txt", "right.txt", "pair.txt"),
            join("may.txt", "june.txt", "spring.txt"),
        ),
    )


def _build_changing() -> tuple[Family, ...]:
    def replace(old: str, new: str, path: str, text: str) -> _Case:
        return _Case(
            f"in {path}, change every {old} to {new}.",
            {path: f"{text}\n"},
            (Check(path=path, text=text.replace(old, new)),),
            f"sed -i s/{old}/{new}/g {path}",
        )

    def sort(what: str, path: str, target: str, words: str) -> _Case:
        return _Case(
            f"{path} holds one {what} a line. Write them in order to {target}.",
            {path: _lines(words)},
            (Check(path=target, text=_lines(" ".join(sorted(words.split())))),),
            f"sort {path} > {target}",
        )

    return (
        _family(
            "replace",
            _read_then("pets.txt", "pets.txt still says dog.", "I change dog to cat.", "sed -i s/dog/cat/g pets.txt"),
            replace("dog", "cat", "pets.txt", "my dog and your dog"),
            replace("red", "green", "paint.txt", "red door and red wall"),
            replace("cold", "warm", "day.txt", "a cold day in a cold house"),
            replace("tea", "milk", "menu.txt", "tea and more tea"),
        ),
        _family(
            "sort",
            _read_then(
                "names.txt",
                "The names are not in order.",
                "I sort them.",
                "sort names.txt > ordered.txt",
            ),
            sort("name", "names.txt", "ordered.txt", "eve ada bob"),
            sort("fruit", "fruit.txt", "sorted.txt", "pear apple fig"),
            sort("city", "cities.txt", "list.txt", "rome bern oslo lima"),
            sort("word", "words.txt", "index.txt", "sun moon air"),
        ),
    )


def _build_counting() -> tuple[Family, ...]:
    def count(path: str, target: str, words: str) -> _Case:
        return _Case(
            f"count the lines of {path} and write the number to {target}.",
            {path: _lines(words)},
            (Check(path=target, text=str(len(words.split()))),),
            f"wc -l < {path} > {target}",
        )

    def unique(path: str, target: str, words: str) -> _Case:
        return _Case(
            f"write each line of {path} once to {target}, in order.",
            {path: _lines(words)},
            (Check(path=target, text=_lines(" ".join(sorted(set(words.split()))))),),
            f"sort -u {path} > {target}",
        )

    def branch(name: str) -> _Case:
        return _Case(
            f"make a git repository here whose branch is {name}.",
            {},
            (Check(path=".git/HEAD", part=f"refs/heads/{name}\n"),),
            f"git init -b {name}",
        )

    return (
        _family(
            "count",
            _read_then("book.txt", "I need the number of lines.", "I count book.txt.", "wc -l < book.txt > size.txt"),
            count("book.txt", "size.txt", "one day it rained"),
            count("guests.txt", "total.txt", "ann ben cem"),
            count("keys.txt", "number.txt", "a b c d e f"),
            count("songs.txt", "count.txt", "hey yes now you go"),
        ),
        _family(
            "unique",
            _read_then("votes.txt", "Some lines come twice.", "I keep each once.", "sort -u votes.txt > once.txt"),
            unique("votes.txt", "once.txt", "yes no yes"),
            unique("colors.txt", "set.txt", "red blue red blue"),
            unique("visits.txt", "people.txt", "tom ann tom eva"),
            unique("tags.txt", "names.txt", "b a b c a"),
        ),
        _family(
            "git",
            _list_then("There is no repository yet.", "I make one with branch main.", "git init -b main"),
            branch("main"),
            branch("work"),
            branch("test"),
            branch("release"),
        ),
    )
