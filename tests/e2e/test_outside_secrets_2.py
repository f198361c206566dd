"""
Secrets in forms and places that the manual does not name, and ordinary values like them: what is kept is looked for in
every file of the state directory. Commands are text: hookd stores them, and nothing here runs them.
"""

import base64, json, os, random, signal

from outside_place import *


# ---- 5. secrets ----------------------------------------------------------------------------------------------------

# Commands, with § for the secret: letters and digits, or letters alone that could be a word. Those of the second list
# are only tried with the former, because ordinary words may stand in that place.
COMMANDS = [
    'sqlcmd -S srv -U sa -P § -Q "select 1"', '7z a -p§ out.7z dir', '7za x -p§ in.7z',
    'twine upload -u me -p § dist/*', 'cqlsh -u cassandra -p § host',
    'ipmitool -I lanplus -H h -U admin -P § power status', 'mosquitto_pub -h h -u me -P § -t t -m m',
    'rabbitmqctl add_user bob §', 'rabbitmqctl change_password bob §', 'mysqladmin -u root password §',
    "mysqladmin -u root -pOLDpart1 password '§'", 'sshpass -p § ssh h', 'sshpass -p§ ssh h',
    'curl -u me:§ https://h', 'curl --user me:§ https://h', 'curl --proxy-user me:§ https://h', 'unzip -P § x.zip',
    'zip -r -P § x.zip d', 'lftp -u me,§ ftp://h', 'smbclient //h/s -U me%§', 'rpcclient -U me%§ h',
    'mount -t cifs //h/s /m -o username=me,password=§', 'xfreerdp /v:h /u:me /p:§', 'rdesktop -u me -p § h',
    'htpasswd -b .htpasswd bob §', 'htpasswd -nb bob §', 'openssl enc -aes-256-cbc -k § -in a -out b',
    'gpg --batch --passphrase § -d f', 'keytool -list -keystore k -storepass §',
    'jarsigner -storepass § -keypass § x.jar a', 'docker login -u me -p § r', 'helm registry login -u me -p § r',
    'az login -u me -p §', 'podman login -u me -p § quay.example',
    'kubectl create secret generic x --from-literal=a=§', 'vault kv put secret/x value=§', 'gh secret set NAME -b §',
    'gh secret set NAME --body §', 'mysqldump -u root -p§ db', 'mysql --password=§', 'ldapsearch -x -D cn=a -w §',
    'ldappasswd -s § -x uid=b', 'snmpwalk -v3 -u me -A § -X § h', 'svn co --username me --password § u',
    'wget --http-password=§ u', 'wget --password § u', "echo 'root:§' | chpasswd",
    'echo "bob:§" | sudo chpasswd -c SHA512', 'echo § | passwd --stdin bob',
    "printf '%s' § | docker login -u me --password-stdin", 'sqlplus me/§@db', 'bcp t out f -U sa -P §',
    'mongosh -u me -p § h', 'mongodump -u me -p §', 'influx -username me -password §',
    'clickhouse-client --password §', 'nmcli dev wifi connect NET password §', 'wpa_passphrase NET §',
    'http -a me:§ h', 'ab -A me:§ http://h/', 'redis-cli -a § ping', 'redis-cli --pass § ping',
    'psql "host=h user=u password=§"', 'git clone https://me:§@h/r.git', 'az ad sp create --password §',
    'ssh-keygen -t rsa -N § -f k', 'ssh-keygen -p -P § -N § -f k', 'zip --password § x.zip a', 'rar a -hp§ x.rar d',
    'unrar x -p§ x.rar', 'pdftk a.pdf output b.pdf user_pw §', 'qpdf --password=§ --decrypt a b',
    'PsExec -u me -p § \\\\h cmd', 'winrm -u me -p §', 'evil-winrm -i h -u me -p §', 'crackmapexec smb h -u me -p §',
    'impacket-psexec me:§@h', 'kinit me <<< §', 'security add-generic-password -a me -s x -w §',
    'secret-tool store --label=x a b <<< §', 'pass insert -e x <<< §', 'bw login me@x.org §',
    'op signin --password §', 'flyctl secrets set K=§', 'heroku config:set DB_PASS=§',
    'firebase functions:config:set api.key=§', 'wrangler secret put K <<< §', 'doctl auth init -t §',
    'tailscale up --authkey §', 'ngrok config add-authtoken §', 'etcdctl --user root:§ get k',
    'nats pub -s nats://me:§@h s m', "mysql -uroot -p§ -e 'select 1'", 'mariadb -u root -p§', 'mycli -u me -p §',
    'pgcli postgresql://me:§@h/d', 'usql mssql://me:§@h/d', 'osql -S h -U sa -P §', 'tsql -H h -U me -P §',
    'db2 connect to d user me using §', 'impala-shell -l -u me --ldap_password_cmd="echo §"',
    'beeline -u j -n me -p §', 'neo4j-admin set-initial-password §', 'cypher-shell -u neo4j -p §',
    'arangosh --server.password §', 's3cmd --secret_key=§ ls', 'rclone config create r sftp pass §', 'sudo -S <<< §',
    'echo § | sudo -S ls', 'echo § | su - bob', 'dscl . -passwd /Users/bob §',
    'sysadminctl -addUser bob -password §',
]
COMMANDS_RANDOM = [
    'openssl rsa -in k -passin pass:§', 'mc alias set m http://h me §',
    'ansible-playbook x.yml -e ansible_become_pass=§', 'net user bob § /add', 'net use Z: \\\\h\\s § /user:bob',
    'hcloud context create --token §', 'nordvpn login --token §', 'isql dsn me §',
    "kafka-configs --alter --add-config 'SCRAM-SHA-512=[password=§]'", 'aws configure set aws_secret_access_key §',
    'mkpasswd -m sha-512 §',
]

# The same for other texts: o what a command printed, p a prompt, w a file that is written, c a command.
TEXTS = [
    ('p', 'Passwort: §'), ('p', 'Kennwort = §'), ('p', 'contraseña: §'), ('p', 'mot de passe : §'), ('p', 'mdp=§'),
    ('p', 'senha=§'), ('p', 'wachtwoord: §'), ('p', 'пароль: §'), ('p', '密碼: §'), ('p', 'hasło: §'),
    ('p', 'lösenord: §'), ('p', 'adgangskode: §'), ('p', 'salasana: §'), ('p', '비밀번호: §'), ('p', 'şifre: §'),
    ('p', 'heslo: §'), ('p', 'clave secreta: §'), ('o', '| user | password |\n|---|---|\n| bob | § |\n'),
    ('o', 'user,password,age\nbob,§,4\n'), ('o', '"user","Password"\n"bob","§"\n'),
    ('o', ' user | password \n------+----------\n bob  | §\n(1 row)\n'),
    ('o', '+------+----------+\n| user | password |\n+------+----------+\n| bob  | § |\n+------+----------+\n'),
    ('w', 'machine h login me password §\n'), ('w', '[client]\nuser=me\npassword = "§"\n'),
    ('w', 'spring.datasource.password: §\n'), ('w', '<password>§</password>'),
    ('w', '<add key="Password" value="§"/>'), ('w', '<key>password</key>\n<string>§</string>'),
    ('w', ":password => '§'"), ('w', "'passwd' => '§',"),
    ('w', 'apiVersion: v1\nkind: Secret\ndata:\n  thing: B64\n'), ('w', 'kind: Secret\nstringData:\n  thing: §\n'),
    ('w', 'let password = "§";'), ('w', 'os.environ["DB_PASS"] = "§"'), ('w', 'ENV DB_PASSWORD §\n'),
    ('w', 'requirepass §\n'), ('w', 'masterauth §\n'), ('w', 'wpa_passphrase=§\n'), ('w', 'psk="§"\n'),
    ('w', 'bindpw §\n'), ('w', 'rootpw §\n'), ('w', 'smtp_sasl_password_maps = static:me:§\n'),
    ('w', 'Server=h;Database=d;User Id=me;Pwd=§;'), ('w', "CREATE USER bob IDENTIFIED BY '§';"),
    ('w', "ALTER ROLE bob WITH LOGIN PASSWORD '§';"), ('w', "CREATE LOGIN bob WITH PASSWORD = N'§';"),
    ('w', "GRANT ALL ON d.* TO bob@h IDENTIFIED BY '§'"), ('o', 'Authorization: Basic B64'),
    ('o', 'Proxy-Authorization: Basic B64'), ('o', 'X-Api-Key: §'), ('o', 'Set-Cookie: sid=§; Path=/; HttpOnly'),
    ('o', 'Cookie: a=1; session=§'), ('o', 'otpauth://totp/x?secret=§&issuer=y'),
    ('o', 'login: bob\npassword: §\nLast login: Mon'), ('p', 'pw: §'), ('c', 'export DB_PASS=§'),
    ('c', 'set -x MYSQL_PWD §'), ('c', 'MYSQL_PWD=§ mysql'), ('c', 'curl -d \'{"username":"me","password":"§"}\' h'),
    ('c', 'curl -F password=§ h'), ('c', 'xh POST h password=§'),
    ('c', 'docker run -e POSTGRES_PASSWORD=§ postgres'), ('c', 'terraform apply -var db_password=§'),
    ('c', 'helm upgrade x y --set auth.password=§'),
]
TEXTS_RANDOM = [
    ('o', '| Name | API token | Since |\n|:--|:-:|--:|\n| ci | § | 2024 |\n'), ('w', "define('DB_PASSWORD', '§');"),
    ('w', 'SharedAccessKey=§'), ('p', 'PIN code secret: §'), ('p', '密码：§'), ('p', 'パスワード：§'),
    ('p', 'the password is §'), ('p', 'my password for it: §'), ('o', 'id;login;secret\n1;bob;§\n'),
    ('o', 'user\ttoken\nbob\t§\n'), ('w', 'const apiToken: string = `§`;'), ('w', 'ARG NPM_TOKEN=§\n'),
    ('w', 'PresharedKey = §\n'), ('w', "SET PASSWORD FOR bob = '§';"), ('o', 'X-Auth-Token: §'),
    ('o', 'PRIVATE-TOKEN: §'), ('o', 'Generated password for bob: §'),
    ('o', 'A temporary password is generated for root@localhost: §'), ('p', 'pwd = §'), ('p', 'passphrase "§"'),
    ('c', '$env:DB_PASSWORD = "§"'), ('c', 'setx API_TOKEN §'), ('c', 'curl "https://h/x?access_token=§&y=1"'),
    ('c', 'curl --data-urlencode "client_secret=§" h'), ('c', 'docker run --env TOKEN=§ x'),
]

ORDINARY = [
    ('c', 'ssh -p 2222 host'), ('c', 'mkdir -p build/output'), ('c', 'docker run -p 8080:80 nginx:latest'),
    ('c', 'cp -p alpha.txt beta.txt'), ('c', 'psql -p 5432 -U postgres -d shop'), ('c', 'ps -p 1234 -o comm'),
    ('c', 'nmap -p 22,80,443 host'), ('c', '7z x archive.7z -ooutput'), ('c', '7z a -mx9 backup.7z folder'),
    ('c', 'mosquitto_sub -h host -p 1883 -t sensors/kitchen'), ('c', 'redis-cli -p 6379 get counter'),
    ('c', 'rsync -P source/ target/'), ('c', 'gcc -pthread -o prog main.c'), ('c', 'mysql -u root -p shopdb'),
    ('c', 'curl -u alice https://example.org/page'), ('c', 'git commit -m "password reset page: fix layout"'),
    ('c', 'grep -rn "password" src/login'), ('c', 'rg -i token lib/parser'),
    ('c', 'sqlcmd -S server -Q "select name from sys.tables"'), ('c', 'python3 -m twine check dist/package.whl'),
    ('c', 'zip -r archive.zip folder'), ('c', 'perl -pe s/alpha/beta/ file'), ('c', 'patch -p1 changes.diff'),
    ('c', 'ldapsearch -x -b dc=example uid=bob'), ('c', 'htpasswd -c file bob'),
    ('c', 'kubectl get secret mysecret -o yaml'), ('c', 'openssl dgst -sha256 release.tar'),
    ('c', 'ssh-keygen -t ed25519 -f keyfile -C comment'), ('c', 'rabbitmqctl list_users --quiet'),
    ('c', 'mysqladmin -u root status extended'), ('c', 'wget -P downloads https://example.org/file.tgz'),
    ('c', 'tar -xzpf backup.tgz -C restore'), ('c', 'docker ps -a --filter name=web'),
    ('c', 'mongosh --port 27017 shop'), ('c', 'snmpwalk -v2c host sysDescr'),
    ('c', 'pytest -p no:cacheprovider tests/unit'), ('c', 'npm run build -- --passWithNoTests'),
    ('c', 'gh secret list --repo owner/name'), ('c', 'vault status -format=json'),
    ('o', '| model | tokens | cost |\n|---|---|---|\n| small | 15321 | 0.12 |\n'),
    ('o', 'id,password_changed_at\n1,2024-01-31\n'), ('o', 'token_count,ratio\n1532,0.75\n'),
    ('o', '| field | type |\n|---|---|\n| password | string |\n'), ('o', 'name,token_type\nalpha,bearer\n'),
    ('w', 'max_tokens: 4096\n'), ('w', 'passwordLength = 12\n'), ('w', 'password: string;\n'),
    ('w', 'token: ${{ secrets.GITHUB_TOKEN }}\n'), ('w', 'password = os.environ["DB_PASSWORD"]\n'),
    ('w', 'PASSWORD=<your password here>\n'), ('w', 'const token = await getToken(user);\n'),
    ('w', 'def check_password(password: str) -> bool:\n'), ('w', 'secretName: web-certificate\n'),
    ('w', 'if (token.type === "identifier") next();\n'),
    ('w', 'password_field = driver.find_element(By.ID, "password")\n'), ('w', 'label.password = Password\n'),
    ('w', 'tokenizer: whitespace\n'), ('p', 'Passwort vergessen? Dann hier klicken'),
    ('p', 'the password is required'), ('p', 'contraseña requerida para continuar'),
    ('p', 'please make the password field accept unicode'), ('p', 'the token is invalid when the clock jumps'),
    ('p', 'mot de passe oublié : corriger la page'), ('o', 'commit 9fceb02d0ae598e95dc970b74767f19372d61af8'),
    ('o', '"integrity": "sha512-QWxhZGRpbjpvcGVuIHNlc2FtZXNlc2FtZXNlc2FtZQ=="'),
    ('o', 'Digest: sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1'),
    ('o', 'session 123e4567-e89b-12d3-a456-426614174000 started'), ('o', 'Password for user postgres: \n'),
    ('o', 'Enter passphrase for key "/home/a/.ssh/id_ed25519": '),
    ('o', 'password authentication failed for user "bob"'), ('o', 'token bucket refilled after 250ms'),
    ('o', 'cookie consent banner shown'), ('o', 'error: unexpected token "else" at line 14'),
]


def secret(seed, letters=False):
	r = random.Random('%s %s' % (seed, letters))
	if letters:
		return ''.join(r.choice('bcdfghklmnprstvz') + r.choice('aeiou') for _ in range(6))
	return ''.join(r.choice('abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789') for _ in range(11)) + '7x'


def tell(place, kind, text, session, agent='claude'):
	if kind == 'c':
		place.call(text, session=session, agent=agent)
	elif kind == 'o':
		place.call('./show', session=session, event='PostToolUse', agent=agent,
		    tool_response={'stdout': text, 'stderr': '', 'interrupted': False})
	elif kind == 'p':
		place.call(session=session, event='UserPromptSubmit', agent=agent, prompt=text)
	else:
		place.call(session=session, event='PreToolUse', agent=agent, tool_name='Write',
		    tool_input={'file_path': place.project + '/notes.txt', 'content': text})


def kept(place, rows, random_rows):
	"""The rows whose secret is anywhere in the state directory afterwards."""
	made = []
	for i, (kind, text) in enumerate(rows + random_rows):
		for letters in (False, True)[:2 if i < len(rows) else 1]:
			s = secret(text, letters)
			b64 = base64.b64encode(('me:' + s).encode()).decode()
			tell(place, kind, text.replace('§', s).replace('B64', b64), 'k%d' % i)
			made.append((text, s if 'B64' not in text else b64, letters))
	everything = place.hookd('export', '--all', '-f', 'jsonl').stdout.decode()
	return [(text, letters) for text, s, letters in made if s in everything or place.holds(s)]


def test_5_passwords_given_to_programs_are_not_kept(place):
	place.start()
	assert kept(place, [('c', c) for c in COMMANDS], [('c', c) for c in COMMANDS_RANDOM]) == []


def test_5_passwords_in_files_tables_tongues_and_headers_are_not_kept(place):
	place.start()
	assert kept(place, TEXTS, TEXTS_RANDOM) == []


def test_5_ordinary_values_are_kept(place):
	place.start()
	for i, (kind, text) in enumerate(ORDINARY):
		tell(place, kind, text, 'o%d' % i)
	everything = [json.dumps(e['payload'], ensure_ascii=False) for e in place.events()]
	assert [t for _, t in ORDINARY if not any(json.dumps(t, ensure_ascii=False)[1:-1] in e for e in everything)] == []


DOTENV = 'COLOUR=§\nAPP_THING="§"\nexport OTHER=§\n'

# What read or wrote a file of secrets, as each agent reports it: (agent, event, members). ¶ is the file's text.
READS = {
    'copilot result': ('copilot', 'postToolUse', {'toolName': 'bash', 'toolArgs': '{"command":"cat .env"}',
        'toolResult': {'resultType': 'success', 'textResultForLlm': '¶'}}),
    'copilot view': ('copilot', 'postToolUse', {'toolName': 'view', 'toolArgs': '{"path":"P/.env"}',
        'toolResult': {'resultType': 'success', 'textResultForLlm': '¶'}}),
    'copilot object args': ('copilot', 'postToolUse',
        {'toolName': 'view', 'toolArgs': {'path': 'P/.env.local'},
            'toolResult': {'resultType': 'success', 'textResultForLlm': '¶'}}),
    'copilot session log': ('copilot', 'postToolUse',
        {'toolName': 'bash', 'toolArgs': '{"command":"cat .env"}',
            'toolResult': {'resultType': 'success', 'textResultForLlm': 'x', 'sessionLog': '¶'}}),
    'copilot snake case': ('copilot', 'PostToolUse',
        {'tool_name': 'bash', 'tool_input': {'command': 'head -5 .env'},
            'tool_result': {'result_type': 'success', 'text_result_for_llm': '¶'}}),
    'copilot create': ('copilot', 'preToolUse', {'toolName': 'create',
        'toolArgs': '{"path":"P/.env","file_text":"‡"}'}),
    'gemini read': ('gemini', 'AfterTool', {'tool_name': 'read_file', 'tool_input': {'file_path': 'P/.env'},
        'tool_response': {'llmContent': '¶', 'returnDisplay': '¶'}}),
    'gemini shell': ('gemini', 'AfterTool', {'tool_name': 'run_shell_command',
        'tool_input': {'command': 'cat config/.env.production'},
            'tool_response': {'llmContent': 'Output: ¶', 'returnDisplay': '¶'}}),
    'gemini many': ('gemini', 'AfterTool', {'tool_name': 'read_many_files', 'tool_input': {'paths': ['src', '.env']},
        'tool_response': {'llmContent': ['--- .env ---\n¶']}}),
    'codex shell': ('codex', 'PostToolUse', {'tool_name': 'shell', 'tool_input': {'command': ['bash', '-lc',
        'cat .env']}, 'tool_response': '¶'}),
    'codex patch': ('codex', 'PreToolUse', {'tool_name': 'apply_patch',
        'tool_input': {'input': '*** Begin Patch\n*** Add File: .env\n+¶\n*** End Patch'}}),
    'cursor read': ('cursor', 'beforeReadFile', {'conversation_id': 'c', 'file_path': 'P/.env', 'content': '¶'}),
    'cursor edit': ('cursor', 'afterFileEdit', {'conversation_id': 'c', 'file_path': 'P/.env',
        'edits': [{'old_string': '¶', 'new_string': '¶'}]}),
    'cursor shell': ('cursor', 'afterShellExecution', {'conversation_id': 'c', 'command': 'cat .env', 'output': '¶'}),
    'cursor mcp': ('cursor', 'afterMCPExecution', {'conversation_id': 'c', 'tool_name': 'read_file',
        'tool_input': '{"path":".env"}', 'result_json': '{"content":"‡"}'}),
    'windsurf read': ('windsurf', 'post_read_code',
        {'trajectory_id': 'w', 'tool_info': {'file_path': 'P/.env', 'content': '¶'}}),
    'windsurf write': ('windsurf', 'post_write_code',
        {'trajectory_id': 'w', 'tool_info': {'file_path': 'P/.env', 'edits': [{'old_string': '', 'new_string': '¶'}]}}),
    'claude mcp': ('claude', 'PostToolUse', {'tool_name': 'mcp__fs__read_text_file', 'tool_input': {'path': 'P/.env'},
        'tool_response': [{'type': 'text', 'text': '¶'}]}),
    'claude multi': ('claude', 'PostToolUse', {'tool_name': 'mcp__fs__read_multiple_files',
        'tool_input': {'paths': ['a', 'P/.env']}, 'tool_response': [{'type': 'text',
            'text': 'a:\nx\n---\nP/.env:\n¶'}]}),
    'claude read of envrc': ('claude', 'PostToolUse',
        {'tool_name': 'Read', 'tool_input': {'file_path': 'P/.envrc'},
            'tool_response': {'type': 'text', 'file': {'filePath': 'P/.envrc', 'content': '¶'}}}),
    'claude edit': ('claude', 'PostToolUse', {'tool_name': 'Edit', 'tool_input': {'file_path': 'P/.env',
        'old_string': '¶', 'new_string': '¶'}, 'tool_response': {'structuredPatch': [{'lines': ['+¶', '-¶']}],
            'originalFile': '¶'}}),
    'claude grep': ('claude', 'PostToolUse', {'tool_name': 'Grep', 'tool_input': {'pattern': '=', 'path': 'P/.env',
        'output_mode': 'content'}, 'tool_response': {'mode': 'content', 'content': '¶'}}),
    'claude failure': ('claude', 'PostToolUseFailure',
        {'tool_name': 'Bash', 'tool_input': {'command': 'cat .env; false'}, 'error': 'Exit code 1\n¶'}),
    'claude diff': ('claude', 'PostToolUse', {'tool_name': 'Bash', 'tool_input': {'command': 'git diff HEAD~1'},
        'tool_response': {'stdout': 'diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n+¶'}}),
    'claude git show': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'git show HEAD:.env'}, 'tool_response': {'stdout': '¶'}}),
    'claude ssh': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'ssh prod "cat /srv/app/.env"'}, 'tool_response': {'stdout': '¶'}}),
    'claude kubectl': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'kubectl exec web -- cat /app/.env'}, 'tool_response': {'stdout': '¶'}}),
    'claude xargs': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'ls -a | grep env$ | xargs tail -n +1 .env'}, 'tool_response': {'stdout': '¶'}}),
    'claude glob': ('claude', 'PostToolUse', {'tool_name': 'Bash', 'tool_input': {'command': 'cat .env*'},
        'tool_response': {'stdout': '¶'}}),
    'claude tee': ('claude', 'PreToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'tee -a .env <<EOF\n¶\nEOF'}}),
    'claude sed': ('claude', 'PreToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'sed -i "s/^COLOUR=.*/COLOUR=§/" .env'}}),
    'claude printenv': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'docker compose exec web printenv'},
            'tool_response': {'stdout': 'API_PASS=§\nDB_PASSWORD=§\n'}}),
    'claude credentials': ('claude', 'PostToolUse',
        {'tool_name': 'Bash', 'tool_input': {'command': 'cat ~/.aws/credentials'},
            'tool_response': {'stdout': '[default]\nthing = §\n'}}),
    'claude netrc': ('claude', 'PostToolUse', {'tool_name': 'Bash', 'tool_input': {'command': 'less ~/.netrc'},
        'tool_response': {'stdout': 'machine h login u account §\n'}}),
    'claude pgpass': ('claude', 'PostToolUse', {'tool_name': 'Read', 'tool_input': {'file_path': '/home/u/.pgpass'},
        'tool_response': {'file': {'content': 'h:1:d:u:§'}}}),
    'claude kubeconfig': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'cat ~/.kube/config'},
            'tool_response': {'stdout': 'users:\n- user:\n    token: §\n'}}),
    'claude docker config': ('claude', 'PostToolUse',
        {'tool_name': 'Bash', 'tool_input': {'command': 'cat ~/.docker/config.json'},
            'tool_response': {'stdout': '{"auths":{"r":{"auth":"§"}}}'}}),
    'claude history': ('claude', 'PostToolUse', {'tool_name': 'Bash',
        'tool_input': {'command': 'tail -50 ~/.zsh_history'}, 'tool_response': {'stdout': ': 17:0;deploy §\n'}}),
    'qwen read': ('qwen', 'PostToolUse', {'tool_name': 'read_file', 'tool_input': {'absolute_path': 'P/.env'},
        'tool_response': {'llmContent': '¶'}}),
    'opencode read': ('opencode', 'tool.execute.after',
        {'tool': 'read', 'args': {'filePath': 'P/.env'}, 'output': {'output': '¶', 'title': '.env'}}),
    'generic result': ('generic', 'PostToolUse', {'toolName': 'ReadFile', 'toolInput': {'path': '.env'},
        'toolResult': {'text': '¶'}}),
    'bytes': ('claude', 'PostToolUse', {'tool_name': 'Bash', 'tool_input': {'command': 'base64 .env'},
        'tool_response': {'stdout': 'B64'}}),
    'hex': ('claude', 'PostToolUse', {'tool_name': 'Bash', 'tool_input': {'command': 'xxd -p .env'},
        'tool_response': {'stdout': 'HEX'}}),
}


def read_of_secrets(place, name, s):
	agent, event, members = READS[name]
	plain = DOTENV.replace('§', s)
	once = json.dumps(plain)[1:-1]
	text = json.dumps(members, ensure_ascii=False).replace('¶', once).replace('‡', json.dumps(once)[1:-1])
	text = text.replace('P/', place.project + '/').replace('§', s)
	text = text.replace('HEX', plain.encode().hex()).replace('B64', base64.b64encode(plain.encode()).decode())
	payload = {'session_id': 'r-' + name, 'sessionId': 'r-' + name, 'cwd': place.project, 'hook_event_name': event,
	    'tool_use_id': 'u-' + name, 'timestamp': 1}
	payload.update(json.loads(text))
	place.hook(agent, event, payload)
	return {'bytes': base64.b64encode(plain.encode()).decode()[:40], 'hex': s.encode().hex()}.get(name, s)


def test_5_files_of_secrets_are_not_kept_however_an_agent_reports_them(place):
	place.start()
	made = {name: read_of_secrets(place, name, secret(900 + i, letters=True)) for i, name in enumerate(READS)}
	everything = place.hookd('export', '--all', '-f', 'jsonl').stdout.decode()
	assert len(place.events()) >= len(READS)
	assert [name for name, s in made.items() if s in everything or place.holds(s)] == []


def test_5_no_daemon_no_difference(place):
	"""The same redaction without a daemon: what offline writes to the spool."""
	place.start()
	os.kill(place.pid(), signal.SIGSTOP)
	try:
		rows = [('c', 'sqlcmd -P §'), ('o', 'user,password\nbob,§\n'), ('p', 'Passwort: §'), ('w', 'password = "§"')]
		made = []
		for i, (kind, text) in enumerate(rows):
			made.append(secret(500 + i))
			tell(place, kind, text.replace('§', made[-1]), 'off%d' % i)
		assert [r for r, s in zip(rows, made) if place.holds(s)] == []
	finally:
		os.kill(place.pid(), signal.SIGCONT)
