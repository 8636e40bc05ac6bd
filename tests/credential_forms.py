"""Forms in which credentials come in messages; `{}` is the credential itself.

Shapes and header forms follow gitleaks (config/gitleaks.toml, v8) and the issuers' own documents.
"""

from typing import Final

BY_KEY: Final = (
    "access_token={}",
    "refresh_token: {}",
    "DB_PASSWORD={}",
    "POSTGRES_PASSWORD_PROD={}",
    "AWS_SECRET_ACCESS_KEY={}",
    "AWS_SESSION_TOKEN = {}",
    "client_secret={}",
    "GITHUB_TOKEN={}",
    "HF_TOKEN={}",
    "HUGGING_FACE_HUB_TOKEN={}",
    "OPENAI_API_KEY={}",
    "NGC_API_KEY='{}'",
    'config: {{"password": "{}"}}',
    "{{'apiKey': '{}', 'region': 'x'}}",
    '{{\\"token\\":\\"{}\\"}}',
    '{{"auths":{{"ghcr.io":{{"auth":"{}"}}}}}}',
    "%22password%22%3A%22{}",
    "Authorization: Token {}",
    "Authorization: {}",
    "authorization=Basic {}",
    "proxy-authorization: Bearer {}",
    "x-api-key: {}",
    "Cookie: {}",
    "--password {}",
    "--password={}",
    '["--hf-token", "{}"]',
    "curl -u admin:{} example",
    "machine example login me password {}",
    "{{Name:DB_PASSWORD,Value:{},}}",
    '{{"name": "API_TOKEN", "value": "{}"}}',
    "env HF_TOKEN value: {}",
    'spec.token: Invalid value: "{}": must be short',
    "<password>{}</password>",
    "Server=db;User Id=u;Password={};Database=d",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=x",
    "SharedAccessSignature={}",
    "SharedAccessSignature sr=x&sig={}&se=1",
    "blob.example/c?sv=2024&sig={}",
    "//registry.example/:_authToken={}",
    "pulling from user:{}@registry.example/model failed",
    "postgres://me:{}@db:5432/x is down",
    "https://{}@git.example/x was refused",
    "private_key = '{}'",
    "AccessKey => {}",
    "s3.secret-key := {}",
    "token:\n  {}",
    "password: |-\n  {}",
    "the API key: {} is wrong",
    "--password\n{}\n",
)
"""What a key, a flag or a place tells to be a credential, whatever it looks like."""

BY_SHAPE: Final = (
    "Bearer {}",
    "sk-{}", "sk-proj-{}", "sk-ant-api03-{}", "sk_live_{}",
    "hf_{}", "api_org_{}",
    "ghp_{}", "gho_{}", "ghs_{}", "github_pat_{}", "glpat-{}",
    "xoxb-{}", "xapp-{}",
    "npm_{}", "dckr_pat_{}", "dckr_oat_{}", "pypi-{}",
    "nvapi-{}", "gsk_{}", "r8_{}",
    "AIza{}", "ya29.{}", "GOCSPX-{}",
    "AKIA{}", "ASIA{}", "LTAI{}",
    "glsa_{}", "hvs.{}", "whsec_{}", "tskey-{}",
    "eyJhbGciOiJub25lIn0.{}",
)  # fmt: skip
"""What an issuer writes before 20 or more letters and digits; those of AWS are in capitals."""

PRIVATE_KEYS: Final = (
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\\n{}\\n",
    "-----BEGIN PRIVATE KEY----- {}",
    "-----BEGIN EC PRIVATE KEY-----\n{}",
)
