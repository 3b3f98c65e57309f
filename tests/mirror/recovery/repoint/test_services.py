"""What is behind HTTP: documents, Consul and etcd; written only over what was read, and told item by item."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import (
    EndpointRefused,
    EndpointUnreachable,
    RepointChangedMeanwhile,
    RepointRefused,
    Stopped,
)
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from tests.mirror.recovery.repoint.moves import EU, MOVE, US, Noted, die_in, flow_with, planned, repointer, states
from tests.mirror.recovery.repoint.server import (
    Asked,
    ConsulService,
    DocumentService,
    EtcdService,
    Service,
    serving,
)

pytestmark = pytest.mark.thorough

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for
TEXT = json.dumps({"kafka": {"bootstrap": US, "n": 1.5}, "topic": "orders", "on": {"side": "us"}}, indent=3)


class Case:
    """One kind with its service, an entry of three values, and what stands in the service."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.service: Service
        if kind == "http":
            self.service = DocumentService(text=TEXT)
        elif kind == "consul":
            self.service = ConsulService()
        else:
            self.service = EtcdService()
        for key, text in {"app/bootstrap": US, "app/topic": "orders", "app/conf.yaml": "side: us # here\n"}.items():
            if isinstance(self.service, ConsulService | EtcdService):
                self.service.put(key, text)

    @property
    def item(self) -> dict[str, Any]:
        """The entry."""
        if self.kind == "http":
            set_ = {"/kafka/bootstrap": "{bootstrap.servers}", "topic": "{topic:orders}", "/on/side": "{alias}"}
            return {"kind": "http", "url": self.service.url, "path": "/config", "set": set_}
        plain = {"app/bootstrap": "{bootstrap.servers}", "app/topic": "{topic:orders}"}
        documents = {"app/conf.yaml": {"set": {"side": "{alias}"}}}
        return {"kind": self.kind, "url": self.service.url, "set": plain, "documents": documents}

    @property
    def stands(self) -> list[str]:
        """The three values as they are in the service."""
        if isinstance(self.service, DocumentService):
            found = json.loads(self.service.text)
            return [found["kafka"]["bootstrap"], found["topic"], found["on"]["side"]]
        assert isinstance(self.service, ConsulService | EtcdService)
        texts = [self.service.stored[key][0] for key in ("app/bootstrap", "app/topic", "app/conf.yaml")]
        return [*texts[:2], texts[2].removeprefix("side: ").removesuffix(" # here\n")]

    def change_second(self, text: str) -> None:
        """Change the second value, as somebody else does."""
        if isinstance(self.service, DocumentService):
            self.service.text = json.dumps({**json.loads(self.service.text), "topic": text})
            self.service.version += 1
        elif isinstance(self.service, ConsulService | EtcdService):
            self.service.put("app/topic", text)


BEFORE, AFTER = [US, "orders", "us"], [EU, "us.orders", "eu"]


@pytest.fixture(params=["http", "consul", "etcd"])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """Give each kind, served."""
    made = Case(request.param)
    with serving(made.service):
        yield made


def test_forth_and_back(case: Case) -> None:
    """Every value is changed, read back and put back; a second time nothing is written."""
    made, note = repointer(**case.item), Noted()
    plan = planned(made)
    assert [(item.before, item.after, item.state.value) for item in plan.items] == [
        (before, after, "to change") for before, after in zip(BEFORE, AFTER, strict=True)
    ]
    assert not [asked for asked in case.service.asked if asked.method not in ("GET", "POST")]
    done = made.apply(plan, note, no_tick)
    assert case.stands == AFTER
    assert states(made.verify(done, no_tick)) == ["in place already"] * 3
    again = len(case.service.asked)
    made.apply(note.last, note, no_tick)
    assert not [asked for asked in case.service.asked[again:] if asked.path.endswith("txn") or asked.method == "PUT"]
    made.undo(note.last, note, no_tick)
    assert case.stands == BEFORE
    if isinstance(case.service, DocumentService):
        assert case.service.text == TEXT


def test_a_middle_item_fails(case: Case) -> None:
    """Where the second cannot be written, the record says so; the same plan goes on, or is undone, later."""
    made, note = repointer(**case.item), Noted()
    plan, writes = planned(made), []

    def second(asked: Asked) -> int | None:
        if asked.method == "PUT" or asked.path.endswith("txn"):
            writes.append(asked)
            return 503 if len(writes) == 2 else None
        return None

    case.service.failing = second
    with pytest.raises(EndpointUnreachable, match="gave no usable answer: status 503"):
        made.apply(plan, note, no_tick)
    assert len(writes) == 2  # what writes is not tried again
    assert states(note.last) == ["in place already", "problem", "to change"]
    assert case.stands == [EU, "orders", "us"]
    assert states(made.undo(note.last, note, no_tick)) == ["to change"] * 3
    assert case.stands == BEFORE
    made.apply(note.last, note, no_tick)
    assert case.stands == AFTER


def test_somebody_else_is_not_overwritten(case: Case) -> None:
    """A value changed since the plan is refused; changed since the repoint, it is left alone and told."""
    made, note = repointer(**case.item), Noted()
    plan = planned(made)
    case.change_second("mine")
    with pytest.raises(RepointChangedMeanwhile, match="is 'mine' by now, and was 'orders'"):
        made.apply(plan, note, no_tick)
    undone = made.undo(note.last, note, no_tick)
    assert (states(undone)[1], case.stands) == ("unexpected value", [US, "mine", "us"])


def test_changed_between_reading_and_writing(case: Case) -> None:
    """The version that was read is what a write is held to."""
    made = repointer(**case.item)
    plan, reads = planned(made), []

    def meanwhile(asked: Asked) -> int | None:
        if asked.method == "PUT" or asked.path.endswith("txn"):
            reads.append(asked)
            if len(reads) == 2:
                case.change_second("mine")
        return None

    case.service.failing = meanwhile
    with pytest.raises(RepointChangedMeanwhile, match="is 'of another version' by now"):
        made.apply(plan, Noted(), no_tick)
    assert case.stands[1] == "mine"


@pytest.mark.thorough
@pytest.mark.parametrize("onwards", ["apply", "undo"])
def test_killed_in_the_middle(case: Case, onwards: str) -> None:
    """A process that dies between a change and its record is gone on with, or undone, by the next one."""
    made = repointer(**case.item)
    recorded = die_in("apply", case.item, planned(made), writes=2)
    assert states(recorded) == ["in place already", "to change", "to change"]
    assert case.stands == [EU, "us.orders", "us"]
    done = getattr(made, onwards)(recorded, Noted(), no_tick)
    assert case.stands == (AFTER if onwards == "apply" else BEFORE)
    assert states(made.verify(done, no_tick)) == ["in place already" if onwards == "apply" else "to change"] * 3


def test_reads_are_tried_again(case: Case) -> None:
    """One bad answer to a read is not the end; three are, as a problem of the items that plans nothing else away."""
    answers = [503, 503]
    case.service.failing = lambda asked: answers.pop() if answers and asked.method == "GET" else None
    if case.kind != "etcd":  # whose reads are POSTs
        assert states(planned(repointer(**case.item))) == ["to change"] * 3
    case.service.failing = lambda asked: 503
    plan = planned(repointer(**case.item))
    assert states(plan) == ["problem"] * 3
    assert "gave no usable answer: status 503" in plan.items[0].detail


def test_missing_keys(case: Case) -> None:
    """A key that is not there is a problem with those near it; with ``create`` it is added and taken out again."""
    near = {"http": "topics", "consul": "app/topics", "etcd": "app/topics"}[case.kind]
    item = {key: value for key, value in case.item.items() if key != "documents"} | {"set": {near: "{alias}"}}
    assert f"(near it: {near[:-1]}" in planned(repointer(**item)).items[0].detail
    made, note = repointer(**item, create=True), Noted()
    before = case.stands
    done = made.apply(planned(made), note, no_tick)
    assert states(made.verify(done, no_tick)) == ["in place already"]
    made.undo(done, note, no_tick)
    assert made.verify(done, no_tick).items[0].state.value == "to change"
    assert case.stands == before


def test_flags_of_consul_stay() -> None:
    """Consul clears a key's flags with a write that does not name them."""
    service = ConsulService()
    service.put("app/topic", "orders", flags=42)
    with serving(service):
        made = repointer(
            kind="consul", url=service.url, set={"app/topic": "{topic:orders}"}, headers={"X-Consul-Token": "t"}
        )
        made.apply(planned(made), Noted(), no_tick)
    assert service.stored["app/topic"][::2] == ("us.orders", 42)
    assert {asked.headers["X-Consul-Token"] for asked in service.asked} == {"t"}


def test_etcd_with_a_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """User and password become a token; the password comes from the environment and is nowhere told."""
    monkeypatch.setenv("ETCD_PASSWORD", SECRET)
    service = EtcdService(password=SECRET)
    service.put("topic", "orders")
    item = {"kind": "etcd", "set": {"topic": "{topic:orders}"}, "auth": {"user": "a", "password": "${ETCD_PASSWORD}"}}
    with serving(service):
        made, note = repointer(**item, url=service.url), Noted()
        made.apply(planned(made), note, no_tick)
        assert service.stored["topic"][0] == "us.orders"
        monkeypatch.setenv("ETCD_PASSWORD", f"{SECRET}-not")
        plan = planned(repointer(**item, url=service.url))
    assert "refused it: status 400" in plan.items[0].detail
    assert SECRET not in f"{plan}{note.texts}{made!r}"


@pytest.mark.parametrize(
    ("auth", "sent"), [({"user": "u", "password": "p"}, "Basic dTpw"), ({"token": "${TOKEN}"}, "Bearer t-1")]
)
def test_log_ins_and_bodies(monkeypatch: pytest.MonkeyPatch, auth: dict[str, str], sent: str) -> None:
    """Basic and bearer; a whole body is compared as text, written to its own path, and put back."""
    monkeypatch.setenv("TOKEN", "t-1")
    service = DocumentService(text="side=us", etag=False)
    with serving(service):
        made, note = repointer(kind="http", url=f"{service.url}/config", body="side={alias}", auth=auth), Noted()
        made.apply(planned(made), note, no_tick)
        assert service.text == "side=eu"
        made.undo(note.last, note, no_tick)
    assert service.text == "side=us"
    assert {asked.headers["Authorization"] for asked in service.asked} == {sent}


def test_patch_sends_the_value_alone() -> None:
    """PATCH is a merge patch of one value."""
    service = DocumentService(text=TEXT)
    with serving(service):
        item = {"kind": "http", "url": service.url, "path": "/config", "method": "PATCH"}
        made = repointer(**item, set={"/kafka/bootstrap": "{bootstrap.servers}"})
        made.apply(planned(made), Noted(), no_tick)
    assert service.asked[-1].json == {"kafka": {"bootstrap": EU}}
    assert service.asked[-1].headers["Content-Type"] == "application/merge-patch+json"
    assert json.loads(service.text)["kafka"] == {"bootstrap": EU, "n": 1.5}


def test_tls(tmp_path: Path) -> None:
    """The host's certificate is checked by the given authority, and refused by another."""
    authority, other = trustme.CA(), trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    for name, one in {"ca.pem": authority, "other.pem": other}.items():
        one.cert_pem.write_to_path(str(tmp_path / name))
    service = DocumentService(text=TEXT)
    item = {"kind": "http", "path": "/config", "set": {"topic": "{topic:orders}"}}
    with serving(service, context=context):
        assert states(planned(repointer(**item, url=service.url, tls={"ca": str(tmp_path / "ca.pem")}))) == [
            "to change"
        ]
        plan = planned(repointer(**item, url=service.url, tls={"ca": str(tmp_path / "other.pem")}))
        assert "CERTIFICATE_VERIFY_FAILED" in plan.items[0].detail
        plan = planned(repointer(**item, url=service.url, tls={"ca": str(tmp_path / "none.pem")}))
        assert "cannot be used: No such file" in plan.items[0].detail


def test_an_endpoint_that_is_not_there() -> None:
    """Nobody listens: a problem of each item, and the plan cannot be applied."""
    service = DocumentService()
    with serving(service):
        pass
    made = repointer(kind="http", url=service.url, path="/config", set={"a": "b"})
    plan = planned(made)
    assert "gave no usable answer: ConnectError" in plan.items[0].detail
    with pytest.raises(RepointRefused):
        made.apply(plan, Noted(), no_tick)


def test_a_refusal_shows_no_body() -> None:
    """K23: an answer may quote what was sent, so that its status alone is told."""
    service = DocumentService(text=f'{{"a": "{SECRET}"}}')
    with serving(service):
        made = repointer(kind="http", url=service.url, path="/config", set={"a": "b"})
        plan = planned(made)
        service.failing = lambda asked: 403 if asked.method == "PUT" else None
        with pytest.raises(EndpointRefused, match=r"PUT http://localhost:\d+/config refused it: status 403"):
            made.apply(plan, Noted(), no_tick)


def test_a_tick_ends_a_wait() -> None:
    """A service that does not answer holds nobody up who is to stop."""
    held = threading.Event()
    service = DocumentService()

    def hold(asked: Asked) -> int | None:
        held.wait(20)
        return None

    service.failing = hold
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(1)
        if len(ticks) > 2:
            raise Stopped

    try:
        with serving(service):
            made = repointer(kind="http", url=service.url, path="/config", set={"a": "b"}, timeout_s=30)
            with pytest.raises(Stopped):
                made.plan(MOVE, tick)
            held.set()
    finally:
        held.set()


def test_an_address_from_the_environment() -> None:
    """A variable that is not set is the problem of its own entry alone, and told in its plan."""
    item = {"kind": "consul", "url": "http://consul:8500", "auth": {"token": "${NOT_SET_ANYWHERE}"}, "set": {"a": "b"}}
    (made,) = make_repointers(flow_with(item))
    plan = planned(made)
    assert "there is no environment variable NOT_SET_ANYWHERE" in plan.items[0].detail
    with pytest.raises(RepointRefused, match="NOT_SET_ANYWHERE"):
        made.apply(plan, Noted(), no_tick)
