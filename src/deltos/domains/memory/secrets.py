"""What secrets look like: one table. The token formats follow the rules of gitleaks (MIT licence, Zachary
Rice), loosened
where issuers change lengths; how they are taken out of a text is redact.py's business."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret. It is looked for only where one of `hints` occurs in the lower-cased text.

    Only the pattern's group `secret` is taken out, or all that matched where it has none. `guess` marks
    patterns that tell a
    secret by its surroundings: what they find must look random as well.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    guess: bool = False

    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when a text first needs it: a hook has no time for sixty patterns."""
        return _compiled(self.pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# A name that announces a secret, as it stands before `=` or `:`.
_ANNOUNCING = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|api[_-]?key|apikey|access[_-]?key|auth[_-]?key|"
    r"account[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|client[_-]?key(?:[_-]data)?|master[_-]?key|"
    r"license[_-]?key|service[_-]?key|secret[_-]?key|app[_-]?key)"
)
_FLAG = r"(?:password|passwd|passphrase|token|secret|api-?key)"
_SERVICE_NAMES = """
    adafruit airtable algolia alibaba asana atlassian bitbucket bittrex cloudflare codecov cohere coinbase confluent
    contentful datadog discord droneci dropbox etsy facebook fastly finicity finnhub flickr freshbooks gitter hubspot
    intercom jfrog kraken kucoin launchdarkly linkedin looker mapbox mattermost meraki messagebird netlify newrelic okta
    plaid rapidapi sendbird sentry snyk squarespace sumologic telegram travis twitch twitter typeform yandex zendesk"""
_SERVICES = tuple(_SERVICE_NAMES.split())
_WORD_HINTS = ("pass", "pwd", "secret", "token", "credential", "key")

RULES = (
    SecretRule(
        "private-key",
        ("-----begin",),
        r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\S]*?(?:-----END[ A-Z0-9_-]{0,100}-----|\Z)",
    ),
    SecretRule(
        "private-key",
        ("putty-user-key-file",),
        r"PuTTY-User-Key-File-\d:[\s\S]*?(?:Private-MAC: ?[0-9a-f]+|\Z)",
    ),
    SecretRule("age-key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,70}"),
    SecretRule("jwt", ("eyj",), r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*"),
    SecretRule(
        "aws-access-key",
        ("akia", "asia", "abia", "acca", "a3t"),
        r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    SecretRule("aws-bedrock-key", ("absk",), r"\bABSK[A-Za-z0-9+/]{80,}={0,2}"),
    SecretRule(
        "aws-secret-key",
        ("aws", "secret_access_key", "secretaccesskey"),
        r"(?i)(?:aws|secret_?access_?key)[\w.\-\s\"':=>]{0,40}?[\s\"'=:](?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        guess=True,
    ),
    SecretRule("github-token", ("gh", "github_pat_"), r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{40,255})"),
    SecretRule(
        "gitlab-token",
        ("gl", "gr1348941"),
        r"\b(?:gl(?:pat|ptt|dt|rt|cbt|ft|imt|agent|oas|soat|ffct)-[\w.-]{18,300}|GR1348941[\w-]{20,})",
    ),
    SecretRule("slack-token", ("xox", "xapp-"), r"\b(?:xox[a-z](?:\.xox[bp])?-[\w-]{10,}|xapp-\d-[\w-]{10,})"),
    SecretRule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}",
    ),
    SecretRule("discord-webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}"),
    SecretRule("teams-webhook", ("webhook.office.com",), r"webhook\.office\.com/webhookb2/[\w@/-]{36,}"),
    SecretRule("anthropic-key", ("sk-ant-",), r"\bsk-ant-[\w-]{20,}"),
    SecretRule("openrouter-key", ("sk-or-",), r"\bsk-or-[\w-]{20,}"),
    SecretRule("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|None-)[\w-]{20,}|\bsk-[A-Za-z0-9]{32,}"),
    SecretRule("google-api-key", ("aiza",), r"\bAIza[\w-]{30,40}"),
    SecretRule(
        "google-oauth",
        ("gocspx-", "ya29.", "1//"),
        r"\bGOCSPX-[\w-]{20,}|\bya29\.[\w.-]{20,}|\b1//0[\w-]{30,}",
    ),
    SecretRule(
        "stripe-key",
        ("k_live", "k_test", "k_prod", "whsec_"),
        r"\b(?:[spr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
    ),
    SecretRule(
        "npm-token",
        ("npm_", "_authtoken"),
        r"\bnpm_[A-Za-z0-9]{30,}|_authToken\s*=\s*(?P<secret>[^\s\"'${]{8,})",
    ),
    SecretRule("pypi-token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{32,}"),
    SecretRule("rubygems-token", ("rubygems_",), r"\brubygems_[a-f0-9]{40,}"),
    SecretRule("docker-token", ("dckr_",), r"\bdckr_(?:pat|oat)_[\w-]{20,}"),
    SecretRule("huggingface-token", ("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    SecretRule("replicate-token", ("r8_",), r"\br8_[A-Za-z0-9]{30,}"),
    SecretRule("groq-key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{40,}"),
    SecretRule("xai-key", ("xai-",), r"\bxai-[A-Za-z0-9]{40,}"),
    SecretRule("perplexity-key", ("pplx-",), r"\bpplx-[A-Za-z0-9]{32,}"),
    SecretRule("sendgrid-key", ("sg.",), r"\bSG\.[\w=-]{16,}\.?[\w.=-]{16,}"),
    SecretRule("brevo-key", ("xkeysib-",), r"\bxkeysib-[a-f0-9]{32,}-\w{8,}"),
    SecretRule(
        "mailgun-key",
        ("key-", "mailgun"),
        r"\b(?:pub)?key-[a-f0-9]{32}\b|\b[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}\b",
    ),
    SecretRule("mailchimp-key", ("-us",), r"\b[a-f0-9]{32}-us\d{1,2}\b"),
    SecretRule("twilio-key", ("sk", "ac"), r"\b(?:SK|AC)[0-9a-fA-F]{32}\b"),
    SecretRule("telegram-token", (":a",), r"\b\d{8,10}:A[A-Za-z0-9_-]{32,36}\b"),
    SecretRule("discord-token", (".",), r"\b[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,40}\b"),
    SecretRule("digitalocean-token", ("_v1_",), r"\bdo[opr]_v1_[a-f0-9]{60,}"),
    SecretRule("databricks-token", ("dapi",), r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    SecretRule("shopify-token", ("shp",), r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}"),
    SecretRule("square-token", ("sq0", "eaaa"), r"\bsq0[a-z]{3}-[\w-]{20,}|\bEAAA[\w-]{22,}"),
    SecretRule("facebook-token", ("eaa",), r"\bEAA[A-Z][A-Za-z0-9]{60,}"),
    SecretRule("linear-key", ("lin_",), r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    SecretRule("notion-token", ("ntn_", "secret_"), r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b"),
    SecretRule("figma-token", ("figd_",), r"\bfigd_[\w-]{30,}"),
    SecretRule("airtable-token", ("pat",), r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    SecretRule("postman-key", ("pmak-",), r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    SecretRule("newrelic-key", ("nrak-", "nrii-", "nrjs-"), r"\bNR(?:AK|II|JS)-[\w-]{19,}"),
    SecretRule(
        "grafana-token",
        ("glsa_", "glc_", "eyjrijoi"),
        r"\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|\bglc_[A-Za-z0-9+/]{32,}={0,3}|\beyJrIjoi[A-Za-z0-9]{60,}={0,3}",
    ),
    SecretRule("sentry-token", ("sntry",), r"\bsntry[su]_[A-Za-z0-9+/=_]{32,}"),
    SecretRule("vault-token", ("hvs.", "hvb.", "hvr."), r"\bhv[sbr]\.[\w-]{24,}"),
    SecretRule("terraform-token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}"),
    SecretRule("doppler-token", ("dp.",), r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}"),
    SecretRule("dynatrace-token", ("dt0c01.",), r"\bdt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    SecretRule("pulumi-token", ("pul-",), r"\bpul-[a-f0-9]{40}\b"),
    SecretRule("planetscale-token", ("pscale_",), r"\bpscale_(?:tkn|oauth|pw)_[\w.=-]{30,}"),
    SecretRule("supabase-key", ("sbp_", "sb_secret_"), r"\b(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,})"),
    SecretRule("flyio-token", ("fo1_", "fm1", "fm2_"), r"\bfo1_[\w-]{40,}|\bfm(?:1[ar]|2)_[A-Za-z0-9+/]{80,}={0,3}"),
    SecretRule("heroku-key", ("hrku-",), r"\bHRKU-[\w-]{36,}"),
    SecretRule("atlassian-token", ("atatt3", "atctt3", "atbb"), r"\b(?:AT[AC]TT3[\w=-]{60,}|ATBB[A-Za-z0-9]{32,})"),
    SecretRule("okta-token", ("ssws",), r"\bSSWS\s+(?P<secret>00[\w-]{40})"),
    SecretRule(
        "onepassword-key",
        ("a3-", "ops_"),
        r"\bA3-[A-Z0-9]{6}-[A-Z0-9-]{20,40}\b|\bops_eyJ[A-Za-z0-9+/]{100,}={0,3}",
    ),
    SecretRule("alibaba-key", ("ltai",), r"\bLTAI[A-Za-z0-9]{16,24}\b"),
    SecretRule("azure-secret", ("q~",), r"(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    SecretRule(
        "azure-storage-key",
        ("accountkey", "sharedaccesskey"),
        r"(?i)(?:AccountKey|SharedAccessKey)\s*=\s*(?P<secret>[A-Za-z0-9+/]{30,}={0,2})",
    ),
    SecretRule("azure-sas", ("sig=",), r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/=]{30,})"),
    SecretRule(
        "connection-string",
        ("://",),
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,100}:(?P<secret>[^\s@/\"'<>]{1,200})@[\w\[]",
    ),
    SecretRule("sentry-dsn", (".ingest.", "sentry.io"), r"https?://(?P<secret>[a-f0-9]{32})(?=@)"),
    SecretRule(
        "authorization",
        ("authorization", "bearer", "basic "),
        r"(?i)\b(?:bearer|basic|token)\s+(?P<secret>[A-Za-z0-9._~+/-]{16,}={0,2})",
        guess=True,
    ),
    SecretRule(
        "authorization",
        ("curl",),
        r"\bcurl\b[^\n]{0,400}?\s(?:-u|--user)[= ]?[\"']?[\w.@-]+:(?P<secret>[^\s\"']{3,})",
    ),
    SecretRule("netrc-password", ("machine",), r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<secret>\S+)"),
    SecretRule("docker-auth", ('"auth"',), r"\"auth\"\s*:\s*\"(?P<secret>[A-Za-z0-9+/]{12,}={0,2})\""),
    SecretRule(
        "heroku-key",
        ("heroku",),
        r"(?i)heroku[\w.\-\s\"':=>]{0,40}?(?P<secret>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
    ),
    SecretRule("artifactory-key", ("akcp", "cmvmd"), r"\b(?:AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{59})\b"),
    SecretRule("adobe-secret", ("p8e-",), r"\bp8e-[A-Za-z0-9]{32}\b"),
    SecretRule("clojars-token", ("clojars_",), r"\bCLOJARS_[A-Za-z0-9]{60}\b"),
    SecretRule("duffel-token", ("duffel_",), r"\bduffel_(?:test|live)_[\w=-]{40,}"),
    SecretRule("easypost-key", ("ezak", "eztk"), r"\bEZ[AT]K[A-Za-z0-9]{54}\b"),
    SecretRule("flutterwave-key", ("flwseck", "flwpubk"), r"\bFLW(?:SEC|PUB)K(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    SecretRule("frameio-token", ("fio-u-",), r"\bfio-u-[\w=-]{60,}"),
    SecretRule("scalingo-token", ("tk-us-",), r"\btk-us-[\w-]{48}"),
    SecretRule("infracost-key", ("ico-",), r"\bico-[A-Za-z0-9]{32}\b"),
    SecretRule("octopus-key", ("api-",), r"\bAPI-[A-Z0-9]{26}\b"),
    SecretRule("openshift-token", ("sha256~",), r"\bsha256~[\w-]{43}"),
    SecretRule("prefect-token", ("pnu_",), r"\bpnu_[A-Za-z0-9]{36}\b"),
    SecretRule("readme-token", ("rdme_",), r"\brdme_[a-z0-9]{70}\b"),
    SecretRule("shippo-token", ("shippo_",), r"\bshippo_(?:live|test)_[a-fA-F0-9]{40}\b"),
    SecretRule("sourcegraph-token", ("sgp_",), r"\bsgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}\b"),
    SecretRule("maxmind-key", ("_mmk",), r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
    SecretRule("harness-key", ("pat.", "sat."), r"\b[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}\b"),
    SecretRule(
        "session-cookie", ("session",), r"(?i)\b\w*session(?:id)?=(?P<secret>[A-Za-z0-9%+/_.-]{24,})", guess=True
    ),
    # A service's name before something random, where nothing says "key".
    SecretRule(
        "service-key",
        _SERVICES,
        rf"(?i)(?:{'|'.join(_SERVICES)})[\w.-]{{0,24}}[\"']?\s{{0,3}}(?:=>|:=|=|:)\s{{0,3}}[\"'`]?"
        r"(?P<secret>[A-Za-z0-9=_-]{15,150})(?![\w./(-])",
        guess=True,
    ),
    SecretRule("password", ("--",), rf"(?i)--{_FLAG}=[\"']?(?P<secret>[^\s\"'$<{{\[][^\s\"']{{3,}})"),
    SecretRule("password", ("--",), rf"(?i)--{_FLAG} +[\"']?(?P<secret>[^\s\"'$<{{\[-][^\s\"']{{3,}})", guess=True),
    SecretRule(
        "password",
        ("pass", "pwd"),
        r"(?i)(?:password|passwd|passphrase|pwd)[\"']?\s{0,4}(?:=>|:=|=|:)\s{0,4}"
        r"(?:\"(?P<secret>[^\s\"{}$%<>]{6,100})\"|'(?P<other>[^\s'{}$%<>]{6,100})')",
    ),
    # Unquoted, but with both cases and a digit: no name in code looks like that.
    SecretRule(
        "password",
        ("pass", "pwd"),
        r"(?i:password|passwd|passphrase|pwd)\s{0,4}(?:=>|:=|=|:)\s{0,4}"
        r"(?P<secret>(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d)[^\s\"'`<>{}()\[\],;$]{8,100}+)(?!\s?[(\[$])",
    ),
    # KEY=value as shells and .env files write it: upper case, no blanks around the sign, whatever the value.
    SecretRule(
        "env-secret",
        ("=",),
        rf"(?<![A-Za-z0-9])(?:[A-Z][A-Z0-9]*_)*{_ANNOUNCING.upper()}(?:_[A-Z0-9]+)*="
        r"[\"']?(?P<secret>[^\s\"'$<{(\[;&,]{4,}+)(?![(\[])",
    ),
    SecretRule(
        "secret",
        _WORD_HINTS,
        rf"(?i)[\w.-]{{0,40}}(?:{_ANNOUNCING}|[_-]key(?![a-z]))[\w-]{{0,20}}[\"'\]]{{0,2}}\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}}"
        r"[\"'`]?(?P<secret>[^\s\"'`<>{}()\[\],;$]{6,200}+)(?!\s?[(\[$])",
        guess=True,
    ),
    SecretRule(
        "high-entropy",
        (*_WORD_HINTS, "auth"),
        r"(?i)\b(?:pass(?:word|phrase)?|pwd|secret|token|credentials?|key|auth)\b[^\n]{0,30}?"
        r"(?<![\w+/=-])(?P<secret>[A-Za-z0-9+/_-]{20,200}={0,2})(?![\w+/=(-])",
        guess=True,
    ),
)
