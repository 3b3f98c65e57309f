"""The part of Kubernetes' API that a repoint speaks to, over TLS, for the official client."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme

from tests.mirror.recovery.repoint.server import Answer, Asked, Service, serving

KINDS = {"configmaps": "ConfigMap", "deployments": "Deployment", "statefulsets": "StatefulSet"}


@dataclass
class Cluster(Service):
    """Objects by kind and name in the namespace ``orders``; ``ready`` says whether pods come up."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    version: int = 100
    ready: bool = True
    token: str = "t-1"  # noqa: S105 # no secret

    def put(self, kind: str, name: str, content: dict[str, Any]) -> None:
        """Store an object, as somebody else does."""
        self.version += 1
        meta = {"name": name, "namespace": "orders", "resourceVersion": str(self.version), "generation": 1}
        self.objects[kind, name] = {"kind": KINDS[kind], "metadata": meta, **content}

    def deploy(self, kind: str, name: str, replicas: int) -> None:
        """Store a workload."""
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
        self.put(kind, name, {"spec": spec | ({"serviceName": name} if kind == "statefulsets" else {})})

    def answer(self, asked: Asked) -> Answer:
        """Give, list or patch."""
        if asked.headers.get("authorization", asked.headers.get("Authorization")) != f"Bearer {self.token}":
            return self._status(401)
        parts = asked.path.split("/namespaces/")[1].split("/")
        kind, name = parts[1], parts[2] if len(parts) > 2 else ""
        json_type = {"Content-Type": "application/json"}
        if not name:
            items = [found for (one, _), found in self.objects.items() if one == kind]
            return 200, json.dumps({"items": items}), json_type
        found = self.objects.get((kind, name))
        if found is None:
            return self._status(404)
        if asked.method == "PATCH":
            patch = asked.json
            if patch["metadata"].pop("resourceVersion") != found["metadata"]["resourceVersion"]:
                return self._status(409)
            before = json.dumps(found.get("spec"))
            self._merge(found, patch)
            self.version += 1
            found["metadata"]["resourceVersion"] = str(self.version)
            found["metadata"]["generation"] += before != json.dumps(found.get("spec"))
        if "spec" in found:
            found["status"] = self._running(found)
        return 200, json.dumps(found), json_type

    def _running(self, found: dict[str, Any]) -> dict[str, Any]:
        replicas = found["spec"]["replicas"]
        pods = {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas if self.ready else 0}
        return {"observedGeneration": found["metadata"]["generation"], **pods}

    def _merge(self, onto: dict[str, Any], patch: dict[str, Any]) -> None:
        for key, value in patch.items():
            if value is None:
                onto.pop(key, None)
            elif isinstance(value, dict):
                self._merge(onto.setdefault(key, {}), value)
            else:
                onto[key] = value

    @staticmethod
    def _status(code: int) -> Answer:
        return code, json.dumps({"kind": "Status", "code": code}), {"Content-Type": "application/json"}


@contextmanager
def kubernetes(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """Serve it over TLS; the path of a kubeconfig that leads to it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    with serving(cluster, context=context):
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [
                {"name": "k", "cluster": {"server": cluster.url, "certificate-authority": str(folder / "ca.pem")}}
            ],
            "users": [{"name": "u", "user": {"token": cluster.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        yield path
