"""Files: one value changed and not a byte besides, put back, and refused where somebody else was there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import (
    RepointChangedMeanwhile,
    RepointPlaceMissing,
    RepointRefused,
    RepointUnreadable,
)
from airflow_provider_mm2.mirror.recovery.repoint.file import FilePlaces
from airflow_provider_mm2.mirror.recovery.repoint.ports import ItemState
from airflow_provider_mm2.mirror.recovery.repoint.values import Held
from tests.mirror.recovery.repoint.moves import EU, MOVE, US, Noted, die_in, planned, repointer, states

SET = {
    "bootstrap.servers": "{bootstrap.servers}",
    "topic": "{topic:orders}",
    "url": {"us": "http://a", "eu": "http://b"},
}
PROPERTIES = f"# of the team\r\nbootstrap.servers = {US}\r\n! topic\r\ntopic:orders\r\nurl=http\\://a\r\nother   x\r\n"
ENV = f"# env\nexport bootstrap.servers='{US}' # which\ntopic=orders\nurl=\"http://a\"\nOTHER=1\n"
YAML = f"""\
# top
bootstrap:   # nested or not
    servers: "{US}"    # here
topic: orders
url: 'http://a'
list:
  - a
  -   b
"""
JSON = f'{{\n\t"bootstrap.servers" : "{US}",\n\t"topic":"orders", "url": "http:\\/\\/a",\n\t"n": 1.50\n}}\n'
WHOLE = {"x.properties": PROPERTIES, ".env": ENV, "x.yaml": YAML, "x.json": JSON}


def expected(text: str) -> str:
    """Give the text with the other side's values, each written as before."""
    both = [(US, EU), ("topic:orders", "topic:us.orders"), ("topic=orders", "topic=us.orders")]
    both += [
        ("topic: orders", "topic: us.orders"),
        ('"topic":"orders"', '"topic":"us.orders"'),
        ("'http://a'", "http://b"),
    ]
    both += [("http\\://a", "http://b"), ("http:\\/\\/a", "http://b"), ("http://a", "http://b")]
    for one, other in both:
        text = text.replace(one, other)
    return text


@pytest.mark.parametrize("name", WHOLE)
def test_one_value_and_not_a_byte_besides(tmp_path: Path, name: str) -> None:
    """Comments, order, spaces, quotes and line ends stay; undoing gives every value back."""
    path = tmp_path / name
    path.write_bytes(WHOLE[name].encode())
    made, note = repointer(kind="file", path=str(path), set=SET), Noted()
    plan = planned(made)
    assert [(item.before, item.after, item.state.value) for item in plan.items] == [
        (US, EU, "to change"),
        ("orders", "us.orders", "to change"),
        ("http://a", "http://b", "to change"),
    ]
    done = made.apply(plan, note, no_tick)
    assert states(done) == states(made.verify(plan, no_tick)) == ["in place already"] * 3
    changed = path.read_bytes().decode()
    if name == "x.yaml":
        assert changed == expected(WHOLE[name]).replace(f'"{EU}"', EU).replace("http://b", '"http://b"')
    else:
        assert changed == expected(WHOLE[name])
    assert len(note.texts) == 4
    undone = made.undo(note.last, note, no_tick)
    assert (states(undone), {item.detail for item in undone.items}) == (["to change"] * 3, {"put back"})
    again = planned(made)
    assert [item.before for item in again.items] == [US, "orders", "http://a"]
    assert states(again) == ["to change"] * 3


@pytest.mark.parametrize("name", ["x.properties", ".env", "x.yaml", "x.json"])
def test_a_key_is_added_and_taken_out_again(tmp_path: Path, name: str) -> None:
    """With ``create`` a missing key is added in the form of the file, and undoing gives the very file back."""
    path = tmp_path / name
    path.write_bytes(WHOLE[name].encode())
    made, note = repointer(kind="file", path=str(path), create=True, set={"group_id": "{alias}"}), Noted()
    plan = planned(made)
    assert plan.items[0].before == "(not there)"
    made.apply(plan, note, no_tick)
    assert states(made.verify(plan, no_tick)) == ["in place already"]
    assert path.read_text().count("group_id") == 1
    made.undo(note.last, note, no_tick)
    assert path.read_bytes() == WHOLE[name].encode()


def test_mode_owner_and_link_stay(tmp_path: Path) -> None:
    """The file is replaced in one step behind its link, with the mode and the owner that it had."""
    real, link = tmp_path / "real.properties", tmp_path / "link.properties"
    real.write_text("topic=orders\n")
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 12, 34)
    before = real.stat()
    link.symlink_to(real.name)
    made = repointer(kind="file", path=str(link), set={"topic": "{topic:orders}"})
    made.apply(planned(made), Noted(), no_tick)
    after = real.stat()
    assert real.read_text() == "topic=us.orders\n"
    assert link.is_symlink()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o640, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.properties", "real.properties"]


def test_latin_1_stays(tmp_path: Path) -> None:
    """A properties file in Java's old encoding keeps its bytes."""
    path = tmp_path / "x.properties"
    path.write_bytes(b"# caf\xe9\ntopic=orders\n")
    made = repointer(kind="file", path=str(path), set={"topic": "{topic:orders}"})
    made.apply(planned(made), Noted(), no_tick)
    assert path.read_bytes() == b"# caf\xe9\ntopic=us.orders\n"


def test_what_is_missing_is_told_with_what_is_near(tmp_path: Path) -> None:
    """A missing file, a missing key: a problem with the names that may have been meant, and nothing is applied."""
    path = tmp_path / "consumer.properties"
    path.write_text("bootstrap.servers=x\n")
    made = repointer(kind="file", path=str(tmp_path / "consumers.properties"), set={"a": "b"})
    plan = planned(made)
    assert plan.items[0].state is ItemState.PROBLEM
    assert f"there is no such file (near it: {path})" in plan.items[0].detail
    with pytest.raises(RepointRefused, match="nothing of this one was changed"):
        made.apply(plan, Noted(), no_tick)
    made = repointer(kind="file", path=str(path), set={"bootstrap.server": "b"})
    assert "no such key (near it: bootstrap.servers)" in planned(made).items[0].detail
    assert made.undo(planned(made), Noted(), no_tick).items[0].state is ItemState.PROBLEM
    with pytest.raises(RepointPlaceMissing):
        FilePlaces(path=path, format="properties").read("nothing", no_tick)


def test_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    """What is neither what the plan saw nor what it wants is refused with both values, and left alone by an undo."""
    path = tmp_path / "x.properties"
    path.write_text(PROPERTIES)
    made, note = repointer(kind="file", path=str(path), set=SET), Noted()
    plan = planned(made)
    path.write_text(path.read_text().replace("topic:orders", "topic:mine"))
    with pytest.raises(RepointChangedMeanwhile, match="is 'mine' by now, and was 'orders'"):
        made.apply(plan, note, no_tick)
    assert states(note.last) == ["in place already", "problem", "to change"]
    undone = made.undo(note.last, note, no_tick)
    assert states(undone) == ["to change", "unexpected value", "to change"]
    assert "left alone, somebody changed it since: mine" in undone.items[1].detail
    assert f"bootstrap.servers = {US}" in path.read_text()
    assert "topic:mine" in path.read_text()


def test_a_file_that_changes_before_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another key changed between reading and replacing: refused, and no temporary file stays."""
    path = tmp_path / "x.properties"
    path.write_text("topic=orders\n")
    fsync = os.fsync

    def meanwhile(descriptor: int) -> None:
        path.write_text("topic=orders\nnew=1\n")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(RepointChangedMeanwhile):
        FilePlaces(path=path, format="properties").write("topic", Held("orders"), Held("x"), no_tick)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("x.properties", "topic=orders\nnew=1\n")]


def test_a_middle_item_fails_and_is_resumed(tmp_path: Path) -> None:
    """Of three items the second cannot be written: the record says which were, and the same plan goes on later."""
    path = tmp_path / "x.yaml"
    path.write_text("a: us\nb: &x us\nc: *x\nd: us\n")
    made, note = repointer(kind="file", path=str(path), set={"a": "{alias}", "b": "{alias}", "d": "{alias}"}), Noted()
    plan = planned(made)
    with pytest.raises(RepointUnreadable, match="would change something else"):
        made.apply(plan, note, no_tick)
    assert states(note.last) == ["in place already", "problem", "to change"]
    path.write_text(path.read_text().replace("&x us", "us").replace("*x", "us"))
    assert states(made.apply(plan, note, no_tick)) == ["in place already"] * 3
    assert path.read_text() == "a: eu\nb: eu\nc: us\nd: eu\n"


@pytest.mark.thorough
@pytest.mark.parametrize("onwards", ["apply", "undo"])
def test_killed_in_the_middle(tmp_path: Path, onwards: str) -> None:
    """A process that dies between a change and its record is gone on with, or undone, by the next one."""
    path = tmp_path / "x.properties"
    content = PROPERTIES.replace("http\\:", "http:").encode()
    path.write_bytes(content)
    item = {"kind": "file", "path": str(path), "set": SET}
    made = repointer(**item)
    recorded = die_in("apply", item, planned(made), writes=2)
    assert states(recorded) == ["in place already", "to change", "to change"]
    assert "us.orders" in path.read_text()
    done = getattr(made, onwards)(recorded, Noted(), no_tick)
    wanted = "in place already" if onwards == "apply" else "to change"
    assert states(done) == states(made.verify(done, no_tick)) == [wanted] * 3
    if onwards == "apply":
        recorded = die_in("undo", item, done, writes=2)
        assert states(made.undo(recorded, Noted(), no_tick)) == ["to change"] * 3
    assert path.read_bytes() == content


def test_groups_that_do_not_move(tmp_path: Path) -> None:
    """An entry for other groups plans nothing, and says why."""
    path = tmp_path / "x.properties"
    path.write_text("topic=orders\n")
    plan = planned(repointer(kind="file", path=str(path), set={"topic": "x"}, groups=["billing-.*"]))
    assert (plan.items, plan.detail) == ((), "none of its groups moves (billing-.*)")
    assert planned(repointer(kind="file", path=str(path), set={"topic": "x"}, groups=["orders-.*"])).items


SECRETS = {"us": "${US_PASSWORD}", "eu": "${EU_PASSWORD}"}


def test_a_secret_is_never_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K23: neither old nor new secret is in a plan or a record, and undoing puts the old one back all the same."""
    monkeypatch.setenv("US_PASSWORD", "hunter2-us")
    monkeypatch.setenv("EU_PASSWORD", "hunter2-eu")
    path = tmp_path / "x.properties"
    path.write_text("sasl.password=hunter2-us\ndb=jdbc://u:hunter2-in-url@h/x\n")
    item = {"kind": "file", "path": str(path), "set": {"sasl.password": SECRETS}}
    made, note = repointer(**item), Noted()
    done = made.apply(planned(made), note, no_tick)
    assert "hunter2-eu" in path.read_text()
    made.undo(done, note, no_tick)
    assert "password=hunter2-us" in path.read_text()
    assert "hunter2" not in "".join(note.texts)
    assert '"before": "***"' in note.texts[0]
    path.write_text("sasl.password=hunter2-of-others\ndb=jdbc://u:hunter2-in-url@h/x\n")
    plan = planned(made)
    assert plan.items[0].detail == "there stands a secret that the flow does not know, which could not be put back"
    with pytest.raises(RepointRefused):
        made.apply(plan, note, no_tick)
    shape = planned(repointer(kind="file", path=str(path), set={"db": "{alias}"}))
    assert (states(shape), "hunter2" in str(shape)) == (["problem"], False)


def test_a_secret_changed_meanwhile_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K23: of a value that is neither of the two only that is told."""
    monkeypatch.setenv("US_PASSWORD", "hunter2-us")
    monkeypatch.setenv("EU_PASSWORD", "hunter2-eu")
    path = tmp_path / "x.properties"
    path.write_text("login=hunter2-us\n")
    made, note = repointer(kind="file", path=str(path), set={"login": SECRETS}), Noted()
    plan = planned(made)
    path.write_text("login=hunter2-mine\n")
    with pytest.raises(RepointChangedMeanwhile) as caught:
        made.apply(plan, note, no_tick)
    undone = made.undo(plan, note, no_tick)
    assert "hunter2" not in f"{caught.value!r}{undone}{note.texts}{made.verify(plan, no_tick)}"


def test_a_move_the_other_way(tmp_path: Path) -> None:
    """A failback is the same entry with the sides swapped."""
    path = tmp_path / "x.json"
    path.write_text(JSON)
    made = repointer(kind="file", path=str(path), set=SET)
    made.apply(planned(made), Noted(), no_tick)
    back = type(MOVE).from_json({**MOVE.to_json(), "from": "eu", "to": "us"})
    assert [item.after for item in planned(made, back).items] == [US, "orders", "http://a"]
    made.apply(planned(made, back), Noted(), no_tick)
    assert states(planned(made)) == ["to change"] * 3
