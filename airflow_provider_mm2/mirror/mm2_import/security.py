"""TLS and SASL of a Java client as librdkafka has them."""

from __future__ import annotations

from airflow_provider_mm2.mirror.mm2_import import reasons
from airflow_provider_mm2.mirror.mm2_import.client_keys import SASL_JAAS
from airflow_provider_mm2.mirror.mm2_import.findings import Given
from airflow_provider_mm2.mirror.mm2_import.jaas import Login, read_jaas
from airflow_provider_mm2.mirror.mm2_import.reasons import Reason
from airflow_provider_mm2.mirror.mm2_import.settings import ClusterDraft

_GOES_WITH_STORE = Reason("it goes with a store that librdkafka cannot read", "leave it out")
_ONE_PASSWORD = Reason("a PKCS#12 store has one password for librdkafka", "give store and key the same password")
_NO_STORE = Reason("there is no store that it goes with", "leave it out")
_PEM_HAS_NONE = Reason("certificates in PEM have no password", "leave it out")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OIDC_HANDLER = "OAuthBearerLoginCallbackHandler"
_KERBEROS = Reason(
    "librdkafka, as confluent-kafka's wheels bring it, is built without Kerberos",
    "install confluent-kafka from source against a librdkafka with SASL, or use SCRAM or PLAIN",
)
_USED_OF_KERBEROS = {"useKeyTab": "true", "storeKey": "true", "doNotPrompt": "true", "useTicketCache": "false"}


def add_tls(draft: ClusterDraft) -> None:
    """Trust, certificate and key. PEM and PKCS#12 have an equal, Java's own stores have none."""
    _add_trust(draft)
    _add_identity(draft)
    check = draft.given.get("ssl.endpoint.identification.algorithm")
    if check is not None:
        draft.put("ssl.endpoint.identification.algorithm", check, check.value.strip().lower() or "none")


def _add_trust(draft: ClusterDraft) -> None:
    location = draft.given.get("ssl.truststore.location")
    inline = draft.given.get("ssl.truststore.certificates")
    if inline is not None:
        draft.put("ssl.ca.pem", inline)
    if location is None:
        draft.tell("ssl.truststore.password", _NO_STORE)
        if inline is None:
            draft.tell("ssl.truststore.type", _NO_STORE)
    elif _store_type(draft, "ssl.truststore.type") == "PEM":
        draft.put("ssl.ca.location", location)
        draft.tell("ssl.truststore.password", _PEM_HAS_NONE)
    else:
        draft.put_variable("ssl.ca.location", location, _trust_to_pem(_store_type(draft, "ssl.truststore.type")))
        draft.tell("ssl.truststore.password", _GOES_WITH_STORE)
        draft.tell("ssl.truststore.type", _GOES_WITH_STORE)


def _trust_to_pem(kind: str) -> Reason:
    return Reason(
        f"librdkafka reads certificates to trust as PEM, not from a {kind} store",
        f"keytool -list -rfc -storetype {kind} -keystore STORE > ca.pem, and set NAME where runs take place to the "
        "path of ca.pem",
    )


def _add_identity(draft: ClusterDraft) -> None:
    location = draft.given.get("ssl.keystore.location")
    kind = _store_type(draft, "ssl.keystore.type")
    for key, setting in {
        "ssl.keystore.certificate.chain": "ssl.certificate.pem",
        "ssl.keystore.key": "ssl.key.pem",
    }.items():
        if key in draft.given:
            draft.put(setting, draft.given[key])
    if location is None:
        draft.tell("ssl.keystore.password", _NO_STORE)
        if "ssl.keystore.key" in draft.given:
            _put_key_password(draft)
        else:
            draft.tell("ssl.keystore.type", _NO_STORE)
            draft.tell("ssl.key.password", _NO_STORE)
    elif kind == "PEM":  # the file of Java's holds key and certificates; librdkafka takes it for either
        draft.put("ssl.certificate.location", location)
        draft.put("ssl.key.location", location)
        _put_key_password(draft)
        draft.tell("ssl.keystore.password", _PEM_HAS_NONE)
    elif kind == "PKCS12":
        draft.put("ssl.keystore.location", location)
        if "ssl.keystore.password" in draft.given:
            draft.put("ssl.keystore.password", draft.given["ssl.keystore.password"])
        draft.tell("ssl.key.password", _ONE_PASSWORD)
    else:
        draft.put_variable("ssl.keystore.location", location, _KEYSTORE)
        draft.tell("ssl.keystore.type", _GOES_WITH_STORE)
        draft.tell("ssl.key.password", _ONE_PASSWORD)
        if "ssl.keystore.password" in draft.given:
            draft.put_variable("ssl.keystore.password", draft.given["ssl.keystore.password"], _KEYSTORE_PASSWORD)


_KEYSTORE = Reason(
    "librdkafka reads a client's key from PKCS#12 or PEM, not from a JKS store",
    "keytool -importkeystore -srckeystore STORE -destkeystore client.p12 -deststoretype PKCS12, and set NAME where "
    "runs take place to the path of client.p12",
)
_KEYSTORE_PASSWORD = Reason(
    "what counts as a secret is never written into a flow",
    "set NAME where runs take place to the password of client.p12",
)


def _put_key_password(draft: ClusterDraft) -> None:
    if "ssl.key.password" in draft.given:
        draft.put("ssl.key.password", draft.given["ssl.key.password"])


def _store_type(draft: ClusterDraft, key: str) -> str:
    given = draft.given.get(key)
    return "JKS" if given is None else given.value.strip().upper()


def add_sasl(draft: ClusterDraft) -> None:
    """What ``sasl.jaas.config`` says, in keys of librdkafka."""
    jaas = draft.given.get(SASL_JAAS)
    login = None if jaas is None else read_jaas(jaas.value)
    is_oidc = False
    if jaas is None:
        pass
    elif login is None:
        _add_unread(draft, jaas)
    elif login.module in ("PlainLoginModule", "ScramLoginModule"):
        _add_user(draft, jaas, login)
    elif login.module == "OAuthBearerLoginModule" and "sasl.oauthbearer.token.endpoint.url" in draft.given:
        is_oidc = True
        _add_oidc(draft, jaas, login)
    elif login.module == "Krb5LoginModule":
        draft.tell(SASL_JAAS, _KERBEROS)
        _add_kerberos(draft, jaas, login)
    else:
        draft.tell(SASL_JAAS, _no_equal(login.module))
    handler = draft.given.get("sasl.login.callback.handler.class")
    if handler is not None and not (is_oidc and handler.value.strip().endswith(_OIDC_HANDLER)):
        draft.tell("sasl.login.callback.handler.class", reasons.NO_EQUAL)


def _no_equal(module: str) -> Reason:
    return Reason(
        f"librdkafka has no equal to the login module {module}",
        "use SCRAM, PLAIN, Kerberos or OIDC, and put sasl.mechanism and what belongs to it into settings:",
    )


def _add_unread(draft: ClusterDraft, jaas: Given) -> None:
    """A configuration from elsewhere, or one that cannot be read: name and password are to be set."""
    mechanism = draft.given.get("sasl.mechanism")
    if mechanism is None or mechanism.value.strip().upper() not in _MECHANISMS:
        draft.tell(SASL_JAAS, Reason("it cannot be read here", "put what it says into settings:, in librdkafka's keys"))
        return
    for setting in ("sasl.username", "sasl.password"):
        what = Reason("it cannot be read here", f"set NAME where runs take place to what {setting} is")
        draft.put_variable(setting, jaas, what)


def _add_user(draft: ClusterDraft, jaas: Given, login: Login) -> None:
    for option, setting in {"username": "sasl.username", "password": "sasl.password"}.items():
        if option in login.options:
            draft.put(setting, jaas, login.options[option], part=f"the {option} in it")
    _tell_options(draft, login, {"username", "password", "serviceName"})


def _add_oidc(draft: ClusterDraft, jaas: Given, login: Login) -> None:
    draft.settings["sasl.oauthbearer.method"] = "oidc"
    used = {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    }
    for option, setting in used.items():
        if option in login.options:
            draft.put(setting, jaas, login.options[option], part=f"the {option} in it")
    _tell_options(draft, login, set(used))


def _add_kerberos(draft: ClusterDraft, jaas: Given, login: Login) -> None:
    used = {
        "keyTab": "sasl.kerberos.keytab",
        "principal": "sasl.kerberos.principal",
        "serviceName": "sasl.kerberos.service.name",
    }
    for option, setting in used.items():
        if option in login.options:
            draft.put(setting, jaas, login.options[option], part=f"the {option} in it")
    usual = {option for option, value in _USED_OF_KERBEROS.items() if login.options.get(option, value) == value}
    _tell_options(draft, login, {*used, *usual})


def _tell_options(draft: ClusterDraft, login: Login, used: set[str]) -> None:
    """Options of a login that become no setting, by number: where quotes are missing, a name is part of a secret."""
    left = len(login.options.keys() - used)
    if left:
        why = f"librdkafka has no equal to {left} of the options of its {login.module}"
        draft.tell(SASL_JAAS, Reason(why, "leave them out"))
