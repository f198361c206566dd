"""Secrets as people and tools spell them, written without sight of the patterns: none of the values may be stored.

Every value is made here, from a fixed seed; none of them ever was a real one. {} is where it goes."""
import base64
import json
import random
import string

import pytest

from world import World, payload

RNG = random.Random(20261118)
LETTERS = string.ascii_letters
SMALL = string.ascii_lowercase
ALNUM = LETTERS + string.digits
HEX = "0123456789abcdef"


def made(alphabet, n):
    return "".join(RNG.choice(alphabet) for _ in range(n))


def pem():
    body = "\n".join(made(ALNUM + "+/", 64) for _ in range(6))
    return base64.b64encode(f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n".encode()).decode()


def discord():
    number = base64.b64encode(str(RNG.randrange(10 ** 18, 2 * 10 ** 18)).encode()).decode().rstrip("=")
    return f"{number}.{made(ALNUM, 6)}.{made(ALNUM + '-_', 38)}"


# In any text.
TEXTS = [
    ("password={}", made(LETTERS, 16)), ("Password: {}", made(LETTERS, 14)), ("passwd={}", made(SMALL, 14)),
    ("token={}", made(LETTERS, 32)), ("token: {}", made(SMALL, 32)), ("TOKEN={}", made(SMALL, 26)),
    ("client_secret={}", made(SMALL, 26)), ("client-secret: {}", made(LETTERS, 40)), ("clientSecret={}", made(LETTERS, 22)),
    ("oauth2.client_secret = {}", made(LETTERS, 28)), ("api-token={}", made(LETTERS, 30)), ("accessToken={}", made(LETTERS, 30)),
    ("secret_token={}", made(SMALL, 30)), ("db.pass={}", made(LETTERS, 18)), ("ADMIN_PASSWORD={}", made(SMALL, 11)),
    ("login with user=bob&password={}&remember=1", made(SMALL, 12)), ("--api-key={}", made(LETTERS, 26)), ("--secret {}", made(LETTERS, 26)),
    ("jdbc:mysql://db/x?user=a&password={}", made(SMALL, 12)), ("Server=x;Uid=a;Pwd={};", made(LETTERS, 12)),
    ("-e POSTGRES_PASSWORD={}", made(SMALL, 12)), ("env: PASSWORD: {}", made(LETTERS, 16)),
    ("\"client_secret\": \"{}\"", made(SMALL, 20)), ("'token': '{}'", made(LETTERS, 24)), ("auth_token: \"{}\"", made(SMALL, 24)),
    ("set password to {}", made(LETTERS, 18)), ("the api key is {}", made(LETTERS, 30)), ("my password is {}", made(LETTERS, 16)),
    ("client-key-data: {}", pem()), ("key: {}", pem()), ("KEY_B64={}", pem()), ("echo {} | base64 -d > k", pem()),
    ("{}", discord()), ("DISCORD_BOT_TOKEN={}", discord()), ("await bot.start('{}')", discord()), ("Authorization: Bot {}", discord()),
    ("https://b.s3.eu-west-1.amazonaws.com/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature={}&x=1", made(HEX, 64)),
    ("\"X-Amz-Signature\": \"{}\"", made(HEX, 64)), ("X-Amz-Signature%3D{}", made(HEX, 64)), ("X-Amz-Security-Token={}", made(ALNUM, 200)),
    ("Cookie: session={}", made(LETTERS, 40)), ("cookie: a=1; sid={}; b=2", made(ALNUM, 32)), ("Set-Cookie: id={}; HttpOnly", made(SMALL, 24)),
    ("curl -b 'auth={}' https://x", made(LETTERS, 30)), ("-H 'Cookie: jwt={}'", made(ALNUM, 60)), ("document.cookie='t={}'", made(LETTERS, 30)),
    ("//npm.example.com/:_authToken={}", made(LETTERS, 40)), ("//npm.example.com/:_auth={}", made(ALNUM, 40)),
    ("aws_session_token = {}", made(LETTERS, 80)), ("master_password: {}", made(SMALL, 15)), ("smtp_pass={}", made(LETTERS, 16)),
    ("wifi psk={}", made(LETTERS, 20)), ("vault_token: {}", made(LETTERS, 26)), ("BOT_SECRET={}", made(LETTERS, 26)),
]

# In commands, and in what they print: the file's contents are {}.
COMMANDS = [
    ("cat > .env <<EOF\nX={}\nEOF", ""), ("cat <<'E' | tee config/.env\nX={}\nE", ""), ("echo \"X={}\" >> .env.production", ""),
    ("printf 'X={}' > .env", ""), ("docker exec app sh -c \"echo X={} >> .env\"", ""), ("docker compose exec web cat .env", "X={}"),
    ("docker cp app:/srv/.env - | tar xO", "X={}"), ("podman exec c head -3 /app/.env", "X={}"),
    ("python -c \"import pathlib; pathlib.Path('.env').write_text('X={}')\"", ""), ("python3 -c \"print(open('.env').read())\"", "X={}"),
    ("node -e \"console.log(require('fs').readFileSync('.env')+'')\"", "X={}"), ("ruby -e 'puts IO.read(\".env\")'", "X={}"),
    ("ENVFILE=.env; cat \"$ENVFILE\"", "X={}"), ("f=.env.local\nsed -n 1,20p $f", "X={}"), ("export F=.env && echo X={} >> $F", ""),
    ("find . -name '.env*' -exec cat {{}} \\;", "X={}"), ("find . -name .env -print0 | xargs -0 cat", "X={}"), ("fd -H .env -x cat", "X={}"),
    ("cat ~/.npmrc", "registry={}"), ("cat infra/prod.tfvars", "x = \"{}\""), ("cat terraform.tfvars.json", "{{\"x\": \"{}\"}}"),
    ("tail -20 ~/.bash_history", "export X={}"), ("cat $HOME/.zsh_history | tail", ": 1:0;x {}"), ("fc -l; cat ~/.local/share/fish/fish_history", "- cmd: {}"),
    ("sed -i 's/X=.*/X={}/' .env", ""), ("awk -F= '{{print $2}}' .env", "{}"), ("grep -h . .env", "X={}"), ("while read -r l; do echo \"$l\"; done <.env", "X={}"),
    ("less .env", "X={}"), ("bat -p .env", "X={}"), ("dd if=.env 2>/dev/null", "X={}"), ("paste .env", "X={}"), ("cp .env /tmp/e; cat /tmp/e", "X={}"),
    ("perl -pe 1 .env", "X={}"), ("php -r 'echo file_get_contents(\".env\");'", "X={}"), ("ssh h 'cat /srv/.env'", "X={}"),
    ("kubectl exec p -- cat /app/.env", "X={}"), ("kubectl cp p:/app/.env /dev/stdout", "X={}"), ("git show HEAD~1:.env", "X={}"),
    ("(cat .env)", "X={}"), ("cat <.env", "X={}"), ("tee -a .env <<< 'X={}'", ""), ("source .env; echo $X", "{}"), ("cat './.env'", "X={}"),
]


@pytest.fixture(scope="module")
def told():
    """Everything is told to one daemon; what it stored is read once."""
    w = World()
    try:
        w.start()
        for n, (text, value) in enumerate(TEXTS):
            w.hookc("PostToolUse", payload("PostToolUse", "texts", tool_name="Fetch", tool_use_id=f"x{n}", tool_input={
                "note": text.format(value)}, tool_response={"text": "first\n" + text.format(value) + "\nlast"}))
        for n, (command, output) in enumerate(COMMANDS):
            value = contents(n)
            w.hookc("PostToolUse", payload("PostToolUse", "commands", tool_name="Bash", tool_use_id=f"c{n}", tool_input={
                "command": command.format(value)}, tool_response={"stdout": output.format(value), "stderr": ""}))
        assert len(w.events()) == len(TEXTS) + len(COMMANDS)
        w.stored = json.dumps(w.events()) + "".join(p.read_bytes().decode("latin-1") for p in w.files())
        yield w
    finally:
        w.close()


def contents(n):
    """An ordinary word: only where it was says that it is a secret."""
    return f"teal{n:03}blue"


@pytest.mark.parametrize("n", range(len(TEXTS)), ids=[t for t, _ in TEXTS])
def test_a_secret_in_text_is_not_stored(told, n):
    text, value = TEXTS[n]
    assert value[:200] not in told.stored, text


@pytest.mark.parametrize("n", range(len(COMMANDS)), ids=[c.replace("\n", " ") for c, _ in COMMANDS])
def test_contents_of_a_secret_file_are_not_stored(told, n):
    assert contents(n) not in told.stored, COMMANDS[n]
