"""Kinds of generated secrets, and their contexts: configuration, commands, code, logs, prose.

The kinds were written from vendors' documentation before any redaction rule. Every third kind is held out while rules
are tuned (`held_out_names`), except for kinds that users requested (`named`).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from benchmarks import secret_values as values
from benchmarks.secret_values import generator_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# How a secret is recognised: anywhere, only next to a name, as a password, or only in contexts of its kind.
Style = Literal["prefixed", "keyed", "password", "own"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret: generator of values, name in configuration files, and contexts with `{}` for the value."""

    name: str
    style: Style
    make: Callable[[Random], str]
    name_in_files: str = ""
    texts: tuple[str, ...] = ()
    named: bool = False


@dataclass(frozen=True, slots=True)
class SecretInText:
    """A text with a secret, and the parts of the text that must not be stored."""

    kind: str
    context: str
    text: str
    value: str
    secrets: tuple[str, ...]


def _prefixed_kind(name: str, pattern: str, name_in_files: str, *texts: str) -> Kind:
    return Kind(name, "prefixed", generator_for(pattern), name_in_files, texts)


def _keyed_kind(name: str, pattern: str, name_in_files: str, *texts: str) -> Kind:
    return Kind(name, "keyed", generator_for(pattern), name_in_files, texts)


def _other_kind(name: str, make: Callable[[Random], str] | str, *texts: str, named: bool = False) -> Kind:
    return Kind(name, "own", generator_for(make) if isinstance(make, str) else make, "", texts, named)


# Recognisable anywhere, by prefixes that vendors designed for secret scanners.
_PREFIXED_KINDS = (
    _prefixed_kind("adafruit io", "aio_{A28}", "ADAFRUIT_IO_KEY"),
    _prefixed_kind("age secret key", "AGE-SECRET-KEY-1{B58}", "AGE_SECRET_KEY", "# public key: age1abc\n{}"),
    _prefixed_kind("airtable token", "pat{A14}.{h64}", "AIRTABLE_TOKEN"),
    _prefixed_kind("alibaba access key", "LTAI5t{A18}", "ALIBABA_ACCESS_KEY"),
    _prefixed_kind("anthropic key", "sk-ant-api03-{u93}AA", "ANTHROPIC_API_KEY", "x-api-key: {}"),
    _prefixed_kind(
        "artifactory api key", "AKCp{A69}", "ARTIFACTORY_API_KEY", "curl -H 'X-JFrog-Art-Api: {}' https://x.jfrog.io"
    ),
    _prefixed_kind("asana token", "2/{d16}/{d16}:{h32}", "ASANA_ACCESS_TOKEN"),
    _prefixed_kind(
        "atlassian token",
        "ATATT3xFfGF0{u171}={H8}",
        "JIRA_API_TOKEN",
        "curl -u me@example.com:{} https://x.atlassian.net",
    ),
    _prefixed_kind("aws access key id", "AKIA{216}", "AWS_ACCESS_KEY_ID"),
    _prefixed_kind("azure client secret", "{A3}8Q~{u34}", "AZURE_CLIENT_SECRET"),
    _prefixed_kind(
        "bitbucket app password",
        "ATBB{A24}{H8}",
        "BITBUCKET_APP_PASSWORD",
        "git clone https://me:{}@bitbucket.org/x/y.git",
    ),
    _prefixed_kind("braintree token", "access_token$production${l16}${h32}", "BRAINTREE_ACCESS_TOKEN"),
    _prefixed_kind("brevo key", "xkeysib-{h64}-{A16}", "BREVO_API_KEY"),
    _prefixed_kind("buildkite token", "bkua_{h40}", "BUILDKITE_API_TOKEN"),
    _prefixed_kind("circleci token", "CCIPAT_{A22}_{h40}", "CIRCLE_TOKEN"),
    _prefixed_kind("clojars token", "CLOJARS_{l60}", "CLOJARS_PASSWORD"),
    _prefixed_kind("cloudflare origin ca", "v1.0-{h24}-{h146}", "CLOUDFLARE_ORIGIN_CA_KEY"),
    _prefixed_kind("contentful token", "CFPAT-{u43}", "CONTENTFUL_TOKEN"),
    _prefixed_kind("crates.io token", "cio{A32}", "CARGO_REGISTRY_TOKEN", "cargo login {}"),
    _prefixed_kind("databricks token", "dapi{h32}-2", "DATABRICKS_TOKEN"),
    _prefixed_kind("digitalocean token", "dop_v1_{h64}", "DIGITALOCEAN_TOKEN", "doctl auth init -t {}"),
    Kind("discord bot token", "prefixed", values.discord_token, "DISCORD_TOKEN"),
    _prefixed_kind("discord webhook", "https://discord.com/api/webhooks/{d18}/{u68}", "DISCORD_WEBHOOK_URL"),
    _prefixed_kind("docker hub token", "dckr_pat_{u27}", "DOCKERHUB_TOKEN"),
    _prefixed_kind("doppler token", "dp.pt.{A43}", "DOPPLER_TOKEN"),
    _prefixed_kind(
        "dynatrace token",
        "dt0c01.{U24}.{U64}",
        "DT_API_TOKEN",
        "curl -H 'Authorization: Api-Token {}' https://x.live.dynatrace.com",
    ),
    _prefixed_kind("easypost key", "EZAK{A54}", "EASYPOST_API_KEY"),
    _prefixed_kind(
        "facebook token", "EAA{A180}", "FB_ACCESS_TOKEN", "https://graph.facebook.com/v19.0/me?access_token={}"
    ),
    _prefixed_kind("figma token", "figd_{u40}", "FIGMA_TOKEN", "X-Figma-Token: {}"),
    _prefixed_kind("firebase messaging key", "AAAA{u7}:APA91b{u134}", "FCM_SERVER_KEY", "Authorization: key={}"),
    _prefixed_kind("flutterwave key", "FLWSECK-{h32}-X", "FLW_SECRET_KEY"),
    _prefixed_kind("fly.io token", "FlyV1 fm2_{b120}", "FLY_API_TOKEN"),
    _prefixed_kind(
        "github app token",
        "ghs_{A36}",
        "GITHUB_TOKEN",
        "git remote set-url origin https://x-access-token:{}@github.com/a/b.git",
    ),
    _prefixed_kind("github fine-grained token", "github_pat_{A22}_{A59}", "GITHUB_TOKEN"),
    _prefixed_kind("github oauth token", "gho_{A36}", "GH_TOKEN", "oauth_token: {}"),
    _prefixed_kind("github refresh token", "ghr_{A76}", "GITHUB_REFRESH_TOKEN"),
    _prefixed_kind(
        "github token",
        "ghp_{A36}",
        "GITHUB_TOKEN",
        "git clone https://{}@github.com/acme/private.git",
        "gh auth login --with-token <<< {}",
    ),
    _prefixed_kind("gitlab deploy token", "gldt-{u20}", "DEPLOY_TOKEN"),
    _prefixed_kind(
        "gitlab pipeline trigger",
        "glptt-{h40}",
        "CI_TRIGGER_TOKEN",
        "curl -X POST -F token={} -F ref=main https://gitlab.example.com",
    ),
    _prefixed_kind(
        "gitlab runner token",
        "glrt-{u20}",
        "RUNNER_TOKEN",
        "gitlab-runner register --token {} --url https://gitlab.com",
    ),
    _prefixed_kind(
        "gitlab token",
        "glpat-{u20}",
        "GITLAB_TOKEN",
        "PRIVATE-TOKEN: {}",
        "git clone https://oauth2:{}@gitlab.com/a/b.git",
    ),
    _prefixed_kind(
        "google api key",
        "AIza{u35}",
        "GOOGLE_API_KEY",
        "https://maps.googleapis.com/maps/api/js?key={}&libraries=places",
    ),
    _prefixed_kind("google client secret", "GOCSPX-{u28}", "GOOGLE_CLIENT_SECRET"),
    _prefixed_kind("google oauth access", "ya29.a0{u180}", "GOOGLE_OAUTH_ACCESS_TOKEN"),
    _prefixed_kind("google refresh token", "1//0{A1}{u98}", "GOOGLE_REFRESH_TOKEN"),
    Kind("grafana cloud token", "prefixed", values.grafana_cloud, "GRAFANA_CLOUD_TOKEN"),
    _prefixed_kind("grafana service account", "glsa_{A32}_{h8}", "GRAFANA_TOKEN"),
    _prefixed_kind("groq key", "gsk_{A52}", "GROQ_API_KEY"),
    _prefixed_kind("heroku key", "HRKU-AA{u58}", "HEROKU_API_KEY"),
    _prefixed_kind("hubspot token", "pat-na1-{uuid}", "HUBSPOT_TOKEN"),
    _prefixed_kind("hugging face token", "hf_{A34}", "HF_TOKEN", "huggingface-cli login --token {}"),
    Kind(
        "json web token",
        "prefixed",
        values.jwt,
        "SESSION_JWT",
        ("Authorization: Bearer {}", "document.cookie = 'session={}'"),
        True,
    ),
    _prefixed_kind("langsmith key", "lsv2_pt_{h32}_{h10}", "LANGSMITH_API_KEY"),
    _prefixed_kind("linear key", "lin_api_{A40}", "LINEAR_API_KEY"),
    _prefixed_kind(
        "mailgun key", "key-{h32}", "MAILGUN_API_KEY", "curl -s --user 'api:{}' https://api.mailgun.net/v3/x/messages"
    ),
    _prefixed_kind("mailchimp key", "{h32}-us12", "MAILCHIMP_API_KEY"),
    _prefixed_kind("mapbox secret token", "sk.eyJ{A80}.{u22}", "MAPBOX_SECRET_TOKEN"),
    _prefixed_kind(
        "microsoft teams webhook",
        "https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}",
        "TEAMS_WEBHOOK_URL",
    ),
    _prefixed_kind("netlify token", "nfp_{A40}", "NETLIFY_AUTH_TOKEN"),
    _prefixed_kind("new relic key", "NRAK-{U27}", "NEW_RELIC_API_KEY"),
    _prefixed_kind("notion token", "ntn_{d11}{A35}", "NOTION_TOKEN"),
    _prefixed_kind("npm token", "npm_{A36}", "NPM_TOKEN", "//registry.npmjs.org/:_authToken={}"),
    _prefixed_kind(
        "nuget key",
        "oy2{l43}",
        "NUGET_API_KEY",
        "dotnet nuget push a.nupkg -k {} -s https://api.nuget.org/v3/index.json",
    ),
    Kind("one password token", "prefixed", values.one_password, "OP_SERVICE_ACCOUNT_TOKEN"),
    Kind("openai key", "prefixed", values.openai_old, "OPENAI_API_KEY", ("openai.api_key = '{}'",)),
    _prefixed_kind("openai project key", "sk-proj-{u74}T3BlbkFJ{u74}", "OPENAI_API_KEY"),
    _prefixed_kind(
        "openshift token", "sha256~{u43}", "OPENSHIFT_TOKEN", "oc login --token={} --server=https://api.x:6443"
    ),
    _prefixed_kind("perplexity key", "pplx-{A48}", "PERPLEXITY_API_KEY"),
    _prefixed_kind("pinecone key", "pcsk_{A6}_{A63}", "PINECONE_API_KEY"),
    _prefixed_kind("plaid token", "access-production-{uuid}", "PLAID_ACCESS_TOKEN"),
    _prefixed_kind("planetscale token", "pscale_tkn_{u43}", "PLANETSCALE_TOKEN"),
    _prefixed_kind("posthog personal key", "phx_{A43}", "POSTHOG_PERSONAL_API_KEY"),
    _prefixed_kind("postman key", "PMAK-{h24}-{h34}", "POSTMAN_API_KEY"),
    _prefixed_kind("pulumi token", "pul-{h40}", "PULUMI_ACCESS_TOKEN"),
    _prefixed_kind(
        "pypi token", "pypi-AgEIcHlwaS5vcmc{u150}", "TWINE_PASSWORD", "twine upload -u __token__ -p {} dist/*"
    ),
    _prefixed_kind("replicate token", "r8_{A37}", "REPLICATE_API_TOKEN"),
    _prefixed_kind("rubygems key", "rubygems_{h48}", "GEM_HOST_API_KEY", ":rubygems_api_key: {}"),
    _prefixed_kind("sendgrid key", "SG.{u22}.{u43}", "SENDGRID_API_KEY"),
    Kind("sentry organisation token", "prefixed", values.sentry_org, "SENTRY_AUTH_TOKEN"),
    _prefixed_kind("sentry user token", "sntryu_{h64}", "SENTRY_AUTH_TOKEN"),
    _prefixed_kind("shippo key", "shippo_live_{h40}", "SHIPPO_TOKEN"),
    _prefixed_kind("shopify token", "shpat_{h32}", "SHOPIFY_ACCESS_TOKEN", "X-Shopify-Access-Token: {}"),
    _prefixed_kind("slack app token", "xapp-1-A{U10}-{d13}-{h64}", "SLACK_APP_TOKEN"),
    _prefixed_kind("slack bot token", "xoxb-{d12}-{d13}-{A24}", "SLACK_BOT_TOKEN"),
    _prefixed_kind("slack user token", "xoxp-{d12}-{d12}-{d13}-{h32}", "SLACK_TOKEN"),
    _prefixed_kind("slack webhook", "https://hooks.slack.com/services/T{U10}/B{U10}/{A24}", "SLACK_WEBHOOK_URL"),
    _prefixed_kind("sonarqube token", "sqp_{h40}", "SONAR_TOKEN", "sonar-scanner -Dsonar.token={}"),
    _prefixed_kind("sourcegraph token", "sgp_{h16}_{h40}", "SRC_ACCESS_TOKEN"),
    _prefixed_kind("square token", "EAAA{u60}", "SQUARE_ACCESS_TOKEN"),
    _prefixed_kind(
        "stripe live key", "sk_live_{A24}", "STRIPE_SECRET_KEY", "curl https://api.stripe.com/v1/charges -u {}:"
    ),
    _prefixed_kind("stripe restricted key", "rk_live_51{A97}", "STRIPE_KEY"),
    _prefixed_kind("stripe webhook secret", "whsec_{A32}", "STRIPE_WEBHOOK_SECRET"),
    _prefixed_kind("supabase token", "sbp_{h40}", "SUPABASE_ACCESS_TOKEN"),
    _prefixed_kind("tailscale key", "tskey-auth-k{A11}CNTRL-{A32}", "TS_AUTHKEY", "tailscale up --authkey {}"),
    Kind(
        "telegram bot token",
        "prefixed",
        values.telegram_token,
        "TELEGRAM_BOT_TOKEN",
        ("https://api.telegram.org/bot{}/getUpdates", "requests.get('https://api.telegram.org/bot{}/sendMessage')"),
        True,
    ),
    _prefixed_kind(
        "terraform cloud token",
        "{A14}.atlasv1.{A67}",
        "TFE_TOKEN",
        'credentials "app.terraform.io" {{\n  token = "{}"\n}}',
    ),
    _prefixed_kind("twilio api key", "SK{h32}", "TWILIO_API_KEY"),
    _prefixed_kind("twitter bearer", "AAAAAAAAAAAAAAAAAAAAA{A90}", "TWITTER_BEARER_TOKEN"),
    _prefixed_kind("typeform token", "tfp_{u44}_{A14}", "TYPEFORM_TOKEN"),
    _prefixed_kind("vault service token", "hvs.{u94}", "VAULT_TOKEN", "X-Vault-Token: {}"),
    _prefixed_kind("xai key", "xai-{A80}", "XAI_API_KEY"),
    _prefixed_kind("yandex cloud token", "y0_{u55}", "YC_TOKEN"),
)

# Recognisable only by a name next to the value.
_KEYED_KINDS = (
    _keyed_kind("amplitude key", "{h32}", "AMPLITUDE_SECRET_KEY"),
    _keyed_kind("auth0 client secret", "{u64}", "AUTH0_CLIENT_SECRET"),
    _keyed_kind(
        "aws secret access key",
        "{b40}",
        "AWS_SECRET_ACCESS_KEY",
        "aws_secret_access_key = {}",
        "aws configure set aws_secret_access_key {}",
    ),
    _keyed_kind("aws session token", "FwoGZXIvYXdzE{b240}==", "AWS_SESSION_TOKEN", "aws_session_token={}"),
    _keyed_kind("azure devops token", "{l52}", "AZURE_DEVOPS_EXT_PAT"),
    _keyed_kind("cloudflare global key", "{h37}", "CLOUDFLARE_API_KEY", "X-Auth-Key: {}"),
    _keyed_kind("cloudflare token", "{u40}", "CLOUDFLARE_API_TOKEN"),
    _keyed_kind("cohere key", "{A40}", "COHERE_API_KEY", "co = cohere.Client('{}')  # api key"),
    _keyed_kind("datadog api key", "{h32}", "DD_API_KEY", "DD-API-KEY: {}"),
    _keyed_kind("encryption key", "{b43}=", "ENCRYPTION_KEY"),
    _keyed_kind("ethereum private key", "0x{h64}", "ETH_PRIVATE_KEY", "cast send --private-key {} 0xabc 1"),
    _keyed_kind("fastly token", "{u32}", "FASTLY_API_TOKEN", "Fastly-Key: {}"),
    _keyed_kind("heroku old key", "{uuid}", "HEROKU_API_KEY"),
    _keyed_kind(
        "jenkins api token", "11{h32}", "JENKINS_API_TOKEN", "curl -u admin:{} http://ci.example.com/job/x/build"
    ),
    _keyed_kind("jwt signing secret", "{A48}", "JWT_SECRET"),
    _keyed_kind("laravel app key", "base64:{b43}=", "APP_KEY"),
    _keyed_kind("mistral key", "{A32}", "MISTRAL_API_KEY"),
    _keyed_kind("okta token", "00{u40}", "OKTA_API_TOKEN", "Authorization: SSWS {}"),
    _keyed_kind("pagerduty key", "u+{u18}", "PAGERDUTY_API_KEY", "Authorization: Token token={}"),
    _keyed_kind("postmark token", "{uuid}", "POSTMARK_SERVER_TOKEN", "X-Postmark-Server-Token: {}"),
    _keyed_kind("rails secret key base", "{h128}", "SECRET_KEY_BASE", "production:\n  secret_key_base: {}"),
    _keyed_kind("snyk token", "{uuid}", "SNYK_TOKEN", "snyk auth {} # token"),
    _keyed_kind("symfony app secret", "{h32}", "APP_SECRET"),
    _keyed_kind(
        "twilio auth token",
        "{h32}",
        "TWILIO_AUTH_TOKEN",
        "curl -u AC00112233445566778899aabbccddeeff:{} https://api.twilio.com",
    ),
    _keyed_kind("vercel token", "{A24}", "VERCEL_TOKEN", "vercel deploy --token {} --prod"),
    _keyed_kind("webhook signing secret", "{A40}", "WEBHOOK_SECRET"),
    Kind(
        "signing variable",
        "keyed",
        generator_for("{A40}"),
        "RELEASE_SIGNING",
        ("COOKIE_SIGNING={}", "export URL_SIGNING={}"),
        True,
    ),
)

# Passwords, with their names in configuration files and prose.
_PASSWORD_KINDS = (
    Kind("database password", "password", values.password, "DB_PASSWORD"),
    Kind("admin password", "password", values.password, "ADMIN_PASSWORD"),
    Kind(
        "smtp password", "password", values.password, "SMTP_PASS", ("smtp.login('me@example.com', '{}')  # password",)
    ),
    Kind(
        "passphrase",
        "password",
        values.password,
        "SSH_KEY_PASSPHRASE",
        ("gpg --batch --passphrase {} -d a.gpg", "ssh-keygen -N {} -f id_ed25519"),
    ),
    Kind("root password", "password", values.password, "MYSQL_ROOT_PASSWORD"),
    Kind(
        "keystore password",
        "password",
        values.password,
        "KEYSTORE_PASSWORD",
        ("keytool -list -storepass {} -keystore a.jks", "server.ssl.key-store-password={}"),
    ),
)

_PEM_IN_JSON = '{{"type": "service_account", "private_key": "{}", "client_email": "a@b.iam.gserviceaccount.com"}}'

# Kinds that appear only in special contexts.
_OTHER_KINDS = (
    _other_kind(
        "rsa private key",
        values.armoured_key("RSA PRIVATE KEY", 1190, head="MII"),
        "{}",
        "cat server.key\n{}\ndone",
        "ERROR key mismatch:\n{}\nerror: exit 1",
        "tls.key: |\n{}",
        "+++ b/server.key\n{}",
    ),
    _other_kind(
        "private key",
        values.armoured_key("PRIVATE KEY", 1217, head="MII"),
        "{}",
        "const KEY = `{}`;",
        "echo '{}' > key.pem",
    ),
    _other_kind(
        "ec private key",
        values.armoured_key("EC PRIVATE KEY", 121, head="MHc"),
        "{}",
        "openssl ecparam -genkey\n{}",
        "key = <<~PEM\n{}\nPEM",
    ),
    _other_kind(
        "encrypted private key", values.armoured_key("ENCRYPTED PRIVATE KEY", 1300, head="MII"), "{}", "found:\n{}"
    ),
    _other_kind(
        "openssh private key",
        values.armoured_key("OPENSSH PRIVATE KEY", 300, width=70, head="b3BlbnNzaC1rZXktdjEA"),
        "{}",
        "cat ~/.ssh/id_ed25519\n{}",
        named=True,
    ),
    _other_kind("pgp private key", values.pgp_key, "{}", "gpg --export-secret-keys --armor\n{}", named=True),
    _other_kind("putty private key", values.putty_key, "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n{}"),
    _other_kind(
        "bcrypt hash",
        values.bcrypt,
        "INSERT INTO users VALUES (1, 'ann', '{}');",
        "admin:{}",
        "password_hash: {}",
        "expected {} to match",
        named=True,
    ),
    _other_kind(
        "argon2 hash", values.argon2, "user ann has {}", '"hash": "{}"', "UPDATE users SET pw = '{}'", named=True
    ),
    _other_kind("scrypt hash", values.scrypt, "user ann has {}", '"password_hash": "{}"', named=True),
    _other_kind(
        "sha512 crypt hash",
        values.crypt_hash("6", 16, 86),
        "root:{}:19700:0:99999:7:::",
        "password: {}",
        "usermod -p '{}' deploy",
        named=True,
    ),
    _other_kind("md5 apache hash", values.crypt_hash("apr1", 8, 22), "ann:{}", "htpasswd file says {}", named=True),
    _other_kind("yescrypt hash", values.crypt_hash("y", 22, 43, "j9T$"), "root:{}:19700:0:99999:7:::", "shadow has {}"),
    _other_kind(
        "django password hash",
        values.django_hash,
        "UPDATE auth_user SET password = '{}'",
        "row: ann {}",
        '"password": "{}"',
    ),
    _other_kind(
        "postgres url",
        values.url_password,
        "postgres://app:{}@db.internal:5432/shop",
        "DATABASE_URL=postgresql://app:{}@10.0.0.4/shop?sslmode=require",
        'engine = create_engine("postgresql+psycopg2://app:{}@db/shop")',
        "could not connect to postgres://app:{}@db:5432/x: refused",
    ),
    _other_kind(
        "mysql url",
        values.url_password,
        "mysql://root:{}@127.0.0.1:3306/shop",
        "mysql+pymysql://shop:{}@db/shop",
        "url: mysql2://u:{}@db/x",
    ),
    _other_kind(
        "mongodb url",
        values.url_password,
        "mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/test?retryWrites=true",
        "MONGO_URL=mongodb://root:{}@mongo:27017,mongo2:27017/?authSource=admin",
    ),
    _other_kind(
        "redis url",
        values.url_password,
        "redis://:{}@cache.internal:6379/0",
        "REDIS_URL=rediss://default:{}@eu1.upstash.io:6379",
        "redis-cli -u redis://:{}@cache:6379 ping",
        named=True,
    ),
    _other_kind(
        "amqp url", values.url_password, "amqp://guest:{}@rabbit:5672/%2F", "broker_url = 'amqps://app:{}@mq/prod'"
    ),
    _other_kind(
        "https url",
        values.url_password,
        "pip install --extra-index-url https://ci:{}@pypi.example.com/simple shop",
        "git clone https://bob:{}@git.example.com/shop.git",
        "fatal: Authentication failed for 'https://bob:{}@git.example.com/shop.git/'",
        "proxy http://proxyuser:{}@10.1.2.3:3128",
    ),
    _other_kind(
        "url with at sign",
        "{A4}@{A5}@{A3}",
        "postgres://app:{}@db.internal:5432/shop",
        "DATABASE_URL=mysql://root:{}@localhost/shop",
        "ftp://bob:{}@files.example.com/in",
        named=True,
    ),
    _other_kind(
        "sentry dsn",
        "{h32}",
        "https://{}@o123456.ingest.sentry.io/4505",
        "SENTRY_DSN=https://{}@o1.ingest.us.sentry.io/1",
    ),
    _other_kind("cloudinary url", "{u27}", "CLOUDINARY_URL=cloudinary://123456789012345:{}@acme"),
    _other_kind(
        "jdbc url",
        values.url_password,
        "jdbc:postgresql://db:5432/shop?user=app&password={}",
        "spring.datasource.url=jdbc:mysql://db/shop?user=root&password={}&useSSL=false",
        "jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password={};encrypt=true",
        "jdbc:oracle:thin:app/{}@db:1521:ORCL",
        named=True,
    ),
    _other_kind(
        "odbc string",
        values.url_password,
        "Driver={{ODBC Driver 18 for SQL Server}};Server=db;Uid=sa;Pwd={};",
        'pyodbc.connect("DSN=shop;UID=app;PWD={}")',
        named=True,
    ),
    _other_kind(
        "ado string",
        values.url_password,
        "Server=tcp:db.database.windows.net,1433;User ID=app;Password={};Encrypt=True;",
        '"DefaultConnection": "Host=db;Username=app;Password={};Database=shop"',
        named=True,
    ),
    _other_kind(
        "libpq string",
        values.url_password,
        "host=db port=5432 dbname=shop user=app password={}",
        "psql 'host=db user=app password={} sslmode=require' -c 'select 1'",
    ),
    _other_kind(
        "azure storage string",
        "{b86}==",
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net",
        "az storage blob list --account-name shop --account-key {}",
        named=True,
    ),
    _other_kind(
        "azure bus string",
        "{b43}=",
        "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
        named=True,
    ),
    _other_kind(
        "azure sas url",
        "{A24}%2B{A17}%3D",
        "https://shop.blob.core.windows.net/c/a.zip?sv=2022-11-02&sr=b&sp=r&sig={}",
        "?sv=2021&ss=b&srt=sco&sp=rl&se=2026-01-01&sig={}&spr=https",
        named=True,
    ),
    _other_kind(
        "s3 signed url",
        "{h64}",
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20250101&X-Amz-Signature={}",
        "curl -o a 'https://b.s3.eu-west-1.amazonaws.com/a?X-Amz-Expires=300&X-Amz-Signature={}'",
        named=True,
    ),
    _other_kind(
        "gcs signed url",
        "{h256}",
        "https://storage.googleapis.com/b/k?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature={}",
    ),
    _other_kind(
        "cloudfront signed url",
        "{A170}~{A170}__",
        "https://d111.cloudfront.net/a.mp4?Expires=1767225600&Signature={}&Key-Pair-Id=K2JCJMDEHXQW5F",
    ),
    _other_kind(
        "google service account",
        lambda random: values.armoured_key("PRIVATE KEY", 1217, head="MII")(random).replace("\n", "\\n") + "\\n",
        _PEM_IN_JSON,
        "GOOGLE_CREDENTIALS='" + _PEM_IN_JSON + "'",
        named=True,
    ),
    _other_kind(
        "basic authorization",
        values.docker_auth,
        "Authorization: Basic {}",
        'curl -H "Authorization: Basic {}" https://x.example.com',
        "'Authorization': 'Basic {}'",
        "> Proxy-Authorization: Basic {}",
        named=True,
    ),
    _other_kind(
        "bearer authorization",
        "{u43}",
        "Authorization: Bearer {}",
        'headers = {{"Authorization": f"Bearer {}"}}',
        "curl -H 'authorization: bearer {}' https://x",
        "< HTTP/1.1 401\n> Authorization: Bearer {}",
        named=True,
    ),
    _other_kind(
        "token authorization",
        "{h40}",
        "Authorization: Token {}",
        "http GET :8000/api 'Authorization: token {}'",
        named=True,
    ),
    _other_kind(
        "digest authorization",
        "{h32}",
        'Authorization: Digest username="ann", realm="x", nonce="dcd98b7102dd2f0e", uri="/", response="{}"',
        named=True,
    ),
    _other_kind(
        "cookie",
        "{A32}",
        "Cookie: theme=dark; sessionid={}; lang=en",
        "curl -b 'session={}' https://x.example.com",
        "Set-Cookie: connect.sid=s%3A{}; Path=/; HttpOnly",
        "curl --cookie PHPSESSID={} https://x.example.com",
        named=True,
    ),
    _other_kind(
        "curl user",
        values.url_password,
        "curl -u admin:{} https://x.example.com/api",
        "curl --user 'ann:{}' -T a.zip ftp://x",
        "curl -sS -X POST -u ann@example.com:{} https://x",
        "curl -uadmin:{} https://x",
        named=True,
    ),
    _other_kind(
        "wget password",
        values.url_password,
        "wget --user=ann --password={} https://x.example.com/a.zip",
        "wget --http-password={} https://x/a",
        "http -a ann:{} GET https://x.example.com",
    ),
    _other_kind(
        "netrc",
        values.url_password,
        "machine api.example.com login ann password {}",
        "machine github.com\n  login ann\n  password {}",
        named=True,
    ),
    _other_kind(
        "pgpass", values.url_password, "db.internal:5432:shop:app:{}", "localhost:5432:*:postgres:{}", named=True
    ),
    _other_kind(
        "mysql command",
        values.url_password,
        "mysql -u root -p{} shop < dump.sql",
        "mysqldump -uroot -p{} shop > a.sql",
        "mysql --user=root --password={} -e 'show tables'",
        "mysqladmin -u root -p'{}' status",
        named=True,
    ),
    _other_kind(
        "sshpass command",
        values.url_password,
        "sshpass -p {} ssh root@10.0.0.3 uptime",
        "sshpass -p '{}' scp a.tgz root@h:",
        'sshpass -p"{}" ssh h',
        named=True,
    ),
    _other_kind(
        "docker login",
        values.url_password,
        "docker login -u ann -p {} registry.example.com",
        "docker login --username ann --password {} ghcr.io",
        "podman login -p {} -u ann quay.io",
        "echo {} | docker login -u ann --password-stdin",
        named=True,
    ),
    _other_kind(
        "psql command",
        values.url_password,
        "PGPASSWORD={} psql -h db -U app shop",
        "PGPASSWORD='{}' pg_dump shop > a.sql",
    ),
    _other_kind(
        "redis command",
        values.url_password,
        "redis-cli -h cache -a {} ping",
        "requirepass {}",
        "REDISCLI_AUTH={} redis-cli ping",
    ),
    _other_kind(
        "mongo command",
        values.url_password,
        "mongosh --username root --password {} --host db",
        "mongodump -u root -p {} --archive=a.gz",
    ),
    _other_kind(
        "ldap command",
        values.url_password,
        "ldapsearch -x -D cn=admin,dc=example,dc=com -w {} -b dc=example",
        "bindpw {}",
    ),
    _other_kind(
        "samba command",
        values.url_password,
        "smbclient //nas/share -U ann%{} -c ls",
        "mount -t cifs //nas/s /mnt -o username=ann,password={}",
    ),
    _other_kind(
        "openssl passphrase",
        values.url_password,
        "openssl rsa -in a.key -passin pass:{}",
        "openssl enc -aes-256-cbc -k {} -in a -out b",
        "openssl pkcs12 -export -passout pass:{} -in a.pem",
    ),
    _other_kind("zip password", values.url_password, "unzip -P {} backup.zip", "7z x -p{} a.7z", "zip -P {} a.zip a"),
    _other_kind(
        "kubectl secret",
        values.password,
        "kubectl create secret generic db --from-literal=password='{}'",
        "kubectl create secret generic db --from-literal=api-key='{}' -n prod",
        "kubectl create secret docker-registry r --docker-username=ann --docker-password='{}'",
        named=True,
    ),
    _other_kind(
        "kubernetes secret",
        lambda random: values.random_base64(random, 24),
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: {}",
        "kind: Secret\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  db.conf: {}",
        "apiVersion: v1\ndata:\n  tls.key: {}\nkind: Secret",
        named=True,
    ),
    _other_kind(
        "kubeconfig key",
        lambda random: values.random_base64(random, 900),
        "users:\n- name: a\n  user:\n    client-certificate-data: LS0tLS1C\n    client-key-data: {}",
    ),
    _other_kind(
        "docker config",
        values.docker_auth,
        '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}',
        '"https://index.docker.io/v1/": {{\n  "auth": "{}"\n}}',
        named=True,
    ),
    _other_kind(
        "dockerconfigjson",
        lambda random: values.random_base64(random, 90),
        "data:\n  .dockerconfigjson: {}\nkind: Secret",
        named=True,
    ),
    _other_kind(
        "npmrc",
        values.generator_for("{uuid}"),
        "//npm.example.com/:_authToken={}",
        '//registry.example.com/:_authToken="{}"',
        "npm config set //npm.example.com/:_authToken {}",
        named=True,
    ),
    _other_kind(
        "npmrc password", lambda random: values.random_base64(random, 18), "_auth={}", "//npm.example.com/:_password={}"
    ),
    _other_kind(
        "maven settings",
        values.password,
        "<server>\n  <id>nexus</id>\n  <username>ci</username>\n  <password>{}</password>\n</server>",
    ),
    _other_kind(
        "spring properties",
        values.password,
        "spring.datasource.password={}",
        "spring.rabbitmq.password: {}",
        "jasypt.encryptor.password={}",
    ),
    _other_kind(
        "ansible",
        values.password,
        "ansible_password: {}",
        "ansible_become_pass={}",
        "host1 ansible_host=10.0.0.3 ansible_ssh_pass={}",
    ),
    _other_kind(
        "terraform variable",
        values.password,
        'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
        'variable "api_token" {{\n  description = "x"\n  sensitive = true\n  default = "{}"\n}}',
        'master_password = "{}"',
        named=True,
    ),
    _other_kind(
        "django secret key",
        lambda random: "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)", k=50)),
        "SECRET_KEY = 'django-insecure-{}'",
        '# SECURITY WARNING: keep the secret key used in production secret!\nSECRET_KEY = "{}"',
        "-SECRET_KEY = 'django-insecure-{}'",
        named=True,
    ),
    _other_kind(
        "wordpress salt",
        lambda random: "".join(random.choices(values.PRINTABLE, k=64)),
        "define( 'AUTH_KEY',         '{}' );",
        "define('NONCE_SALT', '{}');",
    ),
    _other_kind(
        "php define",
        values.url_password,
        "define( 'DB_PASSWORD', '{}' );",
        "$db_password = '{}';",
        "$cfg['Servers'][$i]['password'] = '{}';",
    ),
    _other_kind(
        "password in prose",
        values.password,
        "the password is {}",
        "Her password for the staging box is {} by the way",
        "the admin password was {} until Monday",
        "login with user admin and password {}",
        "The root password should be '{}'",
        "We set the database password to {}",
        named=True,
    ),
    _other_kind(
        "word as password",
        values.word_password,
        "password: {}",
        "Password: {}",
        "username: admin\npassword: {}",
        "user=admin password={}",
        "passwd: {}",
        named=True,
    ),
    _other_kind(
        "value on the next line",
        values.password,
        "Password:\n  {}",
        "password: >-\n  {}",
        '"password":\n    "{}",',
        "DB_PASSWORD=\\\n{}",
        "The API key is:\n\n    {}",
        "Password:\n{}",
        named=True,
    ),
    _other_kind(
        "credentials in prose",
        values.url_password,
        "credentials are admin/{}",
        "log in as admin / {}",
        "use admin:{} for the login",
    ),
    _other_kind(
        "pem body only",
        lambda random: "\n".join(values.armoured_key("RSA PRIVATE KEY", 1190)(random).splitlines()[3:9]),
        "tail -6 server.key\n{}\n-----END RSA PRIVATE KEY-----",
        "$ head -c 400 key | tail -6\n{}",
        "{}",
        named=True,
    ),
    _other_kind(
        "pem without end",
        lambda random: "\n".join(values.armoured_key("PRIVATE KEY", 1190, head="MII")(random).splitlines()[:7]),
        "head -7 server.key\n{}\n…",
        "{}",
        named=True,
    ),
    _other_kind(
        "pem in a diff",
        lambda random: "\n".join(
            "+" + line for line in values.armoured_key("RSA PRIVATE KEY", 900)(random).splitlines()[1:-1]
        ),
        "@@ -0,0 +1,16 @@\n+-----BEGIN RSA PRIVATE KEY-----\n{}\n+-----END RSA PRIVATE KEY-----",
        "@@ -3,2 +3,9 @@\n{}",
        named=True,
    ),
    _other_kind(
        "seed phrase",
        lambda random: values.mnemonic(random.choice((12, 15, 18, 21, 24)), values.bip39_words())(random),
        "{}",
        "seed phrase: {}",
        'MNEMONIC="{}"',
        "My wallet words are {} and nothing else.",
        named=True,
    ),
    _other_kind(
        "seed phrase in a list",
        lambda random: "\n".join(
            f"{number}. {word}"
            for number, word in enumerate(values.mnemonic(12, values.bip39_words())(random).split(), 1)
        ),
        "Write these down:\n{}",
        named=True,
    ),
    _other_kind("bitcoin private key", "L{k51}", "bitcoin-cli importprivkey {}", "wif: {}"),
    _other_kind("extended private key", "xprv9{k107}", "{}", "master key {}"),
    _other_kind(
        "saml response",
        values.saml_response,
        "SAMLResponse={}",
        '<input type="hidden" name="SAMLResponse" value="{}"/>',
        named=True,
    ),
    _other_kind(
        "otp secret",
        "{232}",
        "otpauth://totp/Acme:ann@example.com?secret={}&issuer=Acme",
        "TOTP_SECRET={}",
        "oathtool --totp -b {}",
    ),
    _other_kind(
        "wifi key",
        values.url_password,
        'network={{\n  ssid="home"\n  psk="{}"\n}}',
        "nmcli dev wifi connect home password {}",
    ),
    _other_kind(
        "wireguard key",
        lambda random: values.random_base64(random, 32),
        "[Interface]\nPrivateKey = {}",
        "PresharedKey = {}",
    ),
    _other_kind(
        "snmp community",
        values.url_password,
        "snmpwalk -v3 -u ann -l authPriv -A {} -a SHA 10.0.0.1",
        "net user ann {} /add",
    ),
    _other_kind(
        "hidden in a query",
        "{A30}",
        "GET /callback?code=abc&client_secret={}&grant_type=authorization_code",
        "https://x.example.com/feed?api_key={}",
        "POST /oauth body=grant_type=password&username=ann&password={}",
        "wss://x.example.com/socket?access_token={}",
    ),
    _other_kind(
        "private token in code",
        "{A36}",
        'requests.get(url, headers={{"X-API-Key": "{}"}})',
        'client = boto3.client("s3", aws_secret_access_key="{}")',
        "const stripe = require('stripe')('{}') // secret key",
        'auth=("ann", "{}")',
        "Auth::login('ann', secret: '{}')",
    ),
    _other_kind(
        "escaped json",
        values.url_password,
        '"{{\\"user\\":\\"ann\\",\\"password\\":\\"{}\\"}}"',
        'body=\'{{\\"api_key\\": \\"{}\\"}}\'',
        'payload: {{\\n  \\"client_secret\\": \\"{}\\"\\n}}',
    ),
    _other_kind("sha1 password hash", "sha1$3f1a9c$" + "{h40}", "user: ann hash={}", "password = '{}'"),
    _other_kind("ntlm dump", "{h32}:{h32}", "Administrator:500:{}:::"),
    _other_kind(
        "mssql command",
        values.url_password,
        "sqlcmd -S db -U sa -P {} -Q 'select 1'",
        "docker run -e SA_PASSWORD={} mcr.microsoft.com/mssql/server",
    ),
    _other_kind(
        "ftp command",
        values.url_password,
        "lftp -u ann,{} ftp.example.com",
        "ncftpput -u ann -p {} ftp.example.com / a.zip",
    ),
    _other_kind(
        "helm value",
        values.password,
        "helm upgrade db bitnami/postgresql --set auth.postgresPassword='{}'",
        "helm install r . --set 'redis.auth.password={}'",
    ),
    _other_kind(
        "bamboo header",
        "{A44}",
        "-H 'X-Auth-Token: {}'",
        "api-key: {}",
        "x-functions-key: {}",
        "Ocp-Apim-Subscription-Key: {}",
    ),
)

# Contexts of a value with its name: configuration, commands, code, logs and prose.
_CONTEXTS_WITH_NAME = (
    ("env file", "{NAME}={v}"),
    ("env file, quoted", '{NAME}="{v}"'),
    ("export", "export {NAME}='{v}' && ./deploy.sh"),
    ("prefix of a command", "{NAME}='{v}' npm run release"),
    ("docker run", "docker run -e {NAME}='{v}' acme/shop:1.4"),
    ("dockerfile", "FROM python:3.12\nENV {NAME}={v}"),
    ("powershell", '$env:{NAME} = "{v}"'),
    ("compose", "services:\n  web:\n    environment:\n      - {NAME}={v}"),
    ("yaml", "shop:\n  {name}: {v}\n  region: eu"),
    ("yaml, quoted", '{name}: "{v}"'),
    ("actions", "env:\n  {NAME}: {v}"),
    ("json", '{{"{name}": "{v}", "region": "eu"}}'),
    ("json, camel case", '{{\n  "{camel}": "{v}",\n  "region": "eu"\n}}'),
    ("toml", '[shop]\n{name} = "{v}"'),
    ("properties", "shop.{dotted}={v}"),
    ("xml", "<{camel}>{v}</{camel}>"),
    ("python", "{NAME} = '{v}'"),
    ("python keyword", 'client = Shop({name}="{v}", region="eu")'),
    ("python environment", 'os.environ["{NAME}"] = "{v}"'),
    ("javascript", 'const {camel} = "{v}";'),
    ("javascript object", "new Shop({{ {camel}: '{v}' }})"),
    ("go", '{camel} := "{v}"'),
    ("ruby", "config.{name} = '{v}'"),
    ("ruby hash", "{{ :{name} => '{v}' }}"),
    ("java", 'private static final String {NAME} = "{v}";'),
    ("flag", "shopctl deploy --{dashed} '{v}' --region eu"),
    ("flag, equals", "shopctl deploy --{dashed}={v}"),
    ("helm", "helm upgrade shop ./chart --set shop.{camel}={v}"),
    ("log line", "2025-03-04T10:12:13Z ERROR shop: 401 from upstream {name}={v} attempt=2"),
    ("stack trace", 'File "app.py", line 3, in f\n    connect({name}="{v}")\nConnectionError: refused'),
    ("dict in a log", "DEBUG config: {{'{name}': '{v}', 'region': 'eu'}}"),
    ("diff", "-{NAME}=\n+{NAME}={v}"),
    ("prose", "I set {NAME} to {v} in the console."),
    ("prose, is", "{NAME} is {v}"),
    ("escaped json", '"{{\\"{name}\\": \\"{v}\\"}}"'),
)
# Contexts of a value without a name.
_CONTEXTS_WITHOUT_NAME = (
    ("prose", "Use {v} for the deploy, please."),
    ("prose, end", "The upload needs {v}."),
    ("log line", "2025-03-04T10:12:13Z WARN auth: rejected {v}: expired"),
    ("bearer", "curl -H 'Authorization: Bearer {v}' https://api.example.com/v1/me"),
    ("argument", "./upload.sh {v} eu-west-1"),
    ("array", '["{v}", "eu"]'),
    ("call", 'connect("{v}")'),
    ("diff", "-  old\n+  {v}"),
    ("query", "https://api.example.com/v1/me?access_token={v}&lang=en"),
    ("stack trace", "requests.exceptions.HTTPError: 401 for url: https://api.example.com/me?token={v}"),
    ("markdown", "| key | `{v}` |"),
    ("heredoc", "cat > .token <<EOF\n{v}\nEOF"),
)


# These kinds were held out until the first measurement. It missed 15 of 1,800 texts of all 60 held-out kinds.
_NO_LONGER_HELD_OUT = frozenset(
    ["braintree token", "credentials in prose", "firebase messaging key", "smtp password", "escaped json"]
)


def all_kinds() -> tuple[Kind, ...]:
    """Return every kind, in a fixed order."""
    return (*_PREFIXED_KINDS, *_KEYED_KINDS, *_PASSWORD_KINDS, *_OTHER_KINDS)


def held_out_names() -> frozenset[str]:
    """Return the names of the held-out kinds: every third kind that was not requested, except `_NO_LONGER_HELD_OUT`."""
    return frozenset(kind.name for kind in [kind for kind in all_kinds() if not kind.named][2::3]) - _NO_LONGER_HELD_OUT


def texts_with_secrets(*, per_kind: int, seed: int = 13) -> Iterator[SecretInText]:
    """Yield texts with secrets of every kind. For each kind, as many different contexts as possible are used."""
    for kind in all_kinds():
        random = Random(f"{seed} {kind.name}")
        contexts = contexts_of(kind)
        random.shuffle(contexts)
        for number in range(per_kind):
            context, template = contexts[number % len(contexts)]
            yield write_secret(kind, context, template, random)


def write_secret(kind: Kind, context: str, template: str, random: Random) -> SecretInText:
    """Return a text that contains one secret of a kind in the given context."""
    value = kind.make(random)
    text = template.format(value, v=value, **_name_forms(kind.name_in_files))
    return SecretInText(kind.name, context, text, value, _hidden_parts(value))


def contexts_of(kind: Kind) -> list[tuple[str, str]]:
    """Return the names and templates of the contexts in which a kind occurs."""
    own = [(f"own {number}", text) for number, text in enumerate(kind.texts)]
    with_name = list(_CONTEXTS_WITH_NAME) if kind.style != "own" else []
    without_name = [*_CONTEXTS_WITHOUT_NAME] if kind.style == "prefixed" else []
    return [*own, *with_name, *without_name]


def _hidden_parts(value: str) -> tuple[str, ...]:
    """Return the secret parts of a value: its lines without PEM boundaries, or the part of a webhook URL after the
    public path.
    """
    for public in ("/services/", "/webhooks/", "/webhookb2/", "AGE-SECRET-KEY-1"):
        value = value.rpartition(public)[2]
    lines = [line.lstrip("+") for line in value.replace("\\n", "\n").splitlines()]
    if len(lines) > 1 and all(line.partition(". ")[0].isdigit() for line in lines):
        return (" ".join(line.partition(". ")[2] for line in lines), *(line for line in lines if len(line) > 7))
    named = ("-----", "Private-Lines")
    return tuple(line.removeprefix("Private-MAC: ") for line in lines if len(line) > 3 and not line.startswith(named))


def _name_forms(name: str) -> dict[str, str]:
    words = name.lower().split("_")
    return {
        "NAME": name,
        "name": "_".join(words),
        "camel": words[0] + "".join(word.capitalize() for word in words[1:]),
        "dashed": "-".join(words),
        "dotted": ".".join(words),
    }
