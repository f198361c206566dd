"""A home, a state directory and a project, driven from outside: by the programs, their sockets and a terminal."""

import json, os, pty, select, shutil, signal, socket, subprocess, tempfile, time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get('BUILD', os.path.join(ROOT, 'build')))
HOOKC, HOOKD = os.path.join(BUILD, 'hookc'), os.path.join(BUILD, 'hookd')
PATIENCE = 60
CLEAN = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'xterm',
         **{k: v for k, v in os.environ.items() if k.endswith('SAN_OPTIONS')}}


class Place:
	"""A home, a state directory, a project, and the programs run in them."""

	def __init__(self):
		self.top = tempfile.mkdtemp(prefix='ho', dir='/tmp')
		self.home, self.dir, self.project = (os.path.join(self.top, x) for x in ('h', 's', 'p'))
		for d in (self.home, self.dir, self.project):
			os.mkdir(d, 0o700)
		self.env = dict(CLEAN, HOME=self.home)
		self.calls = 0
		self.write(self.dir + '/places', 'home=%s\n' % self.home)

	def write(self, path, text, mode=0o600):
		os.makedirs(os.path.dirname(path), exist_ok=True)
		with open(path, 'wb') as f:
			f.write(text if isinstance(text, bytes) else text.encode())
		os.chmod(path, mode)
		return path

	def hookd(self, *args, env=None, stdin=b'', timeout=PATIENCE):
		return subprocess.run([HOOKD, args[0], '--dir', self.dir, *args[1:]], input=stdin, capture_output=True,
		                      env=env or self.env, cwd=self.project, timeout=timeout)

	def out(self, *args, **kw):
		r = self.hookd(*args, **kw)
		return (r.stdout + r.stderr).decode('utf-8', 'replace')

	def owner(self, *args, **kw):
		return self.hookd(*args, '--token-file', self.dir + '/owner.token', **kw)

	def rpc(self, method, params=None, **beside):
		"""One JSON-RPC request straight to the socket."""
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(PATIENCE)
		with s:
			s.connect(self.dir + '/run/hookd.sock')
			s.sendall(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params or {},
			    **beside}).encode() + b'\n')
			data = b''
			while b'\n' not in data:
				more = s.recv(65536)
				if not more:
					break
				data += more
		return json.loads(data) if data else None

	def hook(self, agent, event, payload, env=None, timeout=PATIENCE):
		data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
		return subprocess.run([HOOKC, '--dir', self.dir, agent, event], input=data, capture_output=True,
		                      env=env or self.env, cwd=self.project, timeout=timeout)

	def call(self, command=None, session='s', event='PreToolUse', agent='claude', env=None, **more):
		self.calls += 1
		payload = {'session_id': session, 'cwd': self.project, 'hook_event_name': event, 'tool_name': 'Bash',
		           'tool_use_id': 'toolu_%s_%d' % (os.path.basename(self.top), self.calls),
		           'tool_input': {'command': command or 'ls'}}
		payload.update(more)
		return self.hook(agent, event, payload, env)

	def pid(self):
		try:
			return int(open(self.dir + '/run/hookd.lock').read().split()[0])
		except (OSError, ValueError, IndexError):
			return None

	def start(self, env=None):
		r = self.hookd('start', env=env)
		assert r.returncode == 0, r.stderr
		return self.pid()

	def stop(self):
		if os.path.isdir(self.dir):
			self.hookd('stop')

	def kill(self):
		pid = self.pid()
		os.kill(pid, signal.SIGKILL)
		wait_for(lambda: not alive(pid))
		return pid

	def events(self):
		"""Everything in the store. A daemon that was just killed may still have its socket: ask again."""
		r = wait_for(lambda: [x for x in [self.hookd('export', '--all', '-f', 'jsonl')] if x.returncode == 0], 20)
		return [json.loads(line) for line in r[0].stdout.decode('utf-8', 'replace').splitlines()] if r else []

	def holds(self, text):
		"""Whether any file of the state directory has these bytes."""
		text = text.encode() if isinstance(text, str) else text
		for at, _, names in os.walk(self.dir):
			for n in names:
				path = os.path.join(at, n)
				if os.path.isfile(path) and not os.path.islink(path) and text in open(path, 'rb').read():
					return path
		return None

	def terminal(self, *args, env=None, say=b'', timeout=PATIENCE):
		"""hookd at a terminal; what it printed, and its exit code."""
		pid, fd = pty.fork()
		if pid == 0:
			try:
				os.chdir(self.project)
				os.execve(HOOKD, [HOOKD, args[0], '--dir', self.dir, *args[1:]], env or self.env)
			finally:
				os._exit(99)
		out, end, said = b'', time.monotonic() + timeout, False
		while time.monotonic() < end:
			if select.select([fd], [], [], 0.2)[0]:
				try:
					data = os.read(fd, 65536)
				except OSError:
					break
				if not data:
					break
				out += data
			if say and not said and out:
				os.write(fd, say)
				said = True
		else:
			os.kill(pid, signal.SIGKILL)
		os.close(fd)
		return out.decode('utf-8', 'replace'), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

	def trust(self):
		return self.terminal('trust', '-y', self.project)

	def close(self):
		try:
			self.stop()
		except (OSError, subprocess.SubprocessError):
			pass
		pid = self.pid()
		if pid and alive(pid) and self.top in command_line(pid):
			os.kill(pid, signal.SIGKILL)
		shutil.rmtree(self.top, ignore_errors=True)


def command_line(pid):
	try:
		return open('/proc/%d/cmdline' % pid).read()
	except OSError:
		return ''


def alive(pid):
	try:
		return open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[0] != 'Z'
	except OSError:
		return False


def wait_for(condition, limit=PATIENCE):
	end = time.monotonic() + limit
	while time.monotonic() < end:
		got = condition()
		if got:
			return got
		time.sleep(0.05)
	return condition()


@pytest.fixture
def place():
	p = Place()
	yield p
	p.close()


@pytest.fixture(scope='module')
def shared():
	p = Place()
	p.start()
	yield p
	p.close()


def hooks_of(command, event='PreToolUse', **more):
	hook = {'type': 'command', 'command': command, 'timeout': 20, **more}
	return {'hooks': {event: [{'hooks': [hook]}]}}


def read(path):
	try:
		return open(path).read()
	except OSError:
		return ''
