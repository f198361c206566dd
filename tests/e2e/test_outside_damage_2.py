"""
Damage done from outside: state that is taken away, work that is killed half-way, disks that fail, children that stay.
"""

import json, os, re, resource, shutil, signal, sqlite3, struct, subprocess, time

import pytest

from outside_place import *


def taken(path):
	"""All of it, while somebody else removes files in it too."""
	for _ in range(20):
		try:
			return shutil.rmtree(path)
		except FileNotFoundError:
			if not os.path.exists(path):
				return


# ---- 7. the state is removed or replaced under the daemon ------------------------------------------------------------

TAKEN = {
    'everything removed': lambda p: taken(p.dir),
    'everything moved and a new one made': lambda p: (os.rename(p.dir, p.dir + '.moved'), os.mkdir(p.dir, 0o700),
        p.write(p.dir + '/places', 'home=%s\n' % p.home)),
    'journal removed': lambda p: taken(p.dir + '/journal'),
    'run removed': lambda p: taken(p.dir + '/run'),
    'lock removed': lambda p: os.unlink(p.dir + '/run/hookd.lock'),
    'socket removed': lambda p: os.unlink(p.dir + '/run/hookd.sock'),
    'store removed': lambda p: [os.unlink(p.dir + '/' + n) for n in os.listdir(p.dir) if n.startswith('hookd.db')],
    'spool removed': lambda p: taken(p.dir + '/spool'),
    'journal made a link': lambda p: (os.rename(p.dir + '/journal', p.top + '/j'),
        os.symlink(p.top + '/j', p.dir + '/journal')),
    'lock replaced': lambda p: (os.unlink(p.dir + '/run/hookd.lock'), p.write(p.dir + '/run/hookd.lock', '1\n')),
    'store emptied': lambda p: os.truncate(p.dir + '/hookd.db', 0),
    'newest segment removed': lambda p: os.unlink(p.dir + '/journal/' + sorted(os.listdir(p.dir + '/journal'))[-1]),
    'directory made a link': lambda p: (os.rename(p.dir, p.top + '/real'), os.symlink(p.top + '/real', p.dir)),
    'removed twice': lambda p: (taken(p.dir), p.call(session='between'), time.sleep(0.5),
        shutil.rmtree(p.dir, ignore_errors=True)),
}


@pytest.mark.parametrize('how', TAKEN)
@pytest.mark.parametrize('folded', [True, False])
def test_7_nothing_acknowledged_is_lost_when_the_state_is_taken_away(place, how, folded):
	old = place.start()
	for i in range(20):
		assert place.call('echo before%d' % i, session='before').returncode == 0
	if folded:
		assert len(place.events()) >= 20
	for i in range(20, 30):
		place.call('echo before%d' % i, session='before')
	TAKEN[how](place)
	for i in range(10):
		assert place.call('echo after%d' % i, session='after').returncode == 0
	here = place.dir

	def words():
		return ' '.join(json.dumps(e['payload']) for e in place.events())

	def missing():
		text = words()
		sent = ['before%d' % i for i in range(30)] + ['after%d' % i for i in range(10)]
		return [x for x in sent if '"echo %s"' % x not in text]

	moved = os.path.isdir(place.dir + '.moved')
	wait_for(lambda: moved or not missing(), 60)
	lost = missing()
	if lost and os.path.isdir(place.dir + '.moved'):  # what was moved is whole where it is
		now = set(lost)
		place.dir = here + '.moved'
		wait_for(lambda: not alive(old), 20)
		lost = [x for x in missing() if x in now]
		place.stop()
		place.dir = here
	if alive(old) and old != place.pid():
		wait_for(lambda: not alive(old), 20)
		assert not alive(old)
	assert lost == []
	text = words()
	assert all(text.count('"echo after%d"' % i) == 1 for i in range(10))


# ---- 8. purge and restore can be killed anywhere --------------------------------------------------------------------


def fill(place, n, word, session):
	for i in range(n):
		place.call('echo %s %d' % (word, i), session=session, event='UserPromptSubmit', prompt='%s number %d' % (word, i))


@pytest.mark.parametrize('after_ms', [0, 1, 2, 3, 5, 8, 12, 20, 40, 80])
def test_8_a_purge_that_was_killed_is_finished_by_the_next_start(place, after_ms):
	place.start()
	fill(place, 40, 'forgetme', 'x')
	fill(place, 20, 'keepme', 'y')
	place.hookd('backup')
	p = subprocess.Popen([HOOKD, 'purge', '--dir', place.dir, '--match', 'forgetme', '--all-copies', '-y',
	    '--token-file', place.dir + '/owner.token'],
	                     env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	wait_for(lambda: os.path.exists(place.dir + '/purge.order') or p.poll() is not None, 20)
	time.sleep(after_ms / 1000)
	ordered = os.path.exists(place.dir + '/purge.order') or p.poll() == 0
	place.kill()
	p.wait(PATIENCE)
	place.start()
	gone = wait_for(lambda: not place.holds('forgetme'), 30) if ordered else True
	kept_events = [e for e in place.events() if 'keepme' in json.dumps(e)]
	assert gone, place.holds('forgetme')
	assert len(kept_events) == 20


@pytest.mark.parametrize('text', ['grüße-an-alle', 'say "this" twice', 'back\\slash path', 'two\nlines',
    'emoji \U0001f511 key', "it's quoted", 'tab\there', 'per%cent_under', '<b>tag</b>', 'CaseMatters'])
def test_8_purge_finds_text_however_it_is_escaped(place, text):
	place.start()
	place.call(event='UserPromptSubmit', session='x', prompt='before %s after' % text)
	place.call(event='UserPromptSubmit', session='y', prompt='unrelated keepme')
	place.hookd('backup')
	assert place.owner('purge', '--match', text, '--all-copies', '-y').returncode == 0
	assert len([e for e in place.events() if text in json.dumps(e,
	    ensure_ascii=False) or text in str(e['payload'].get('prompt'))]) == 0
	for form in {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
		assert not [f for f in [place.holds(form)] if f and 'changes' not in f]
	assert 'keepme' in json.dumps(place.events())


def test_8_purge_reaches_the_spool_and_what_waits_there(place):
	place.start()
	fill(place, 3, 'keepme', 'k')
	os.kill(place.pid(), signal.SIGSTOP)
	fill(place, 3, 'forgetme', 'x')
	os.kill(place.pid(), signal.SIGCONT)
	place.owner('purge', '--match', 'forgetme', '-y')
	assert wait_for(lambda: not place.holds('forgetme'), 30), place.holds('forgetme')


BROKEN = {
    'cut short': lambda data: data[:len(data) // 2], 'empty': lambda data: b'',
    'not a database': lambda data: b'hello' * 1000,
    'zeros in the middle': lambda data: data[:8192] + b'\0' * 16384 + data[24576:],
    'header only': lambda data: data[:100], 'another version': lambda data: data[:60] + struct.pack('>I',
    99999) + data[64:], 'flipped': lambda data: bytes(b ^ 0x55 if 5000 < i < 9000 else b for i, b in enumerate(data)),
}


@pytest.mark.parametrize('how', list(BROKEN) + ['a directory', 'missing', 'another program\'s database', 'a pipe'])
def test_8_a_backup_that_is_broken_replaces_nothing(place, how):
	place.start()
	fill(place, 10, 'keepme', 'y')
	b = place.top + '/b.db'
	assert place.hookd('backup', b).returncode == 0
	fill(place, 5, 'laterme', 'z')
	place.stop()
	if how in BROKEN:
		data = open(b, 'rb').read()
		place.write(b, BROKEN[how](data))
	elif how == 'a directory':
		os.unlink(b)
		os.mkdir(b)
	elif how == 'a pipe':
		os.unlink(b)
		os.mkfifo(b)
	elif how == 'missing':
		os.unlink(b)
	else:
		os.unlink(b)
		with sqlite3.connect(b) as c:
			c.execute('create table events(x)')
	assert place.owner('restore', '-y', b).returncode != 0
	text = json.dumps(place.events())
	assert text.count('keepme number') >= 10 and text.count('laterme number') >= 5


@pytest.mark.parametrize('after_ms', [0, 1, 2, 4, 6, 9, 13, 20, 35])
def test_8_a_restore_that_was_killed_is_all_or_nothing(place, after_ms):
	place.start()
	fill(place, 15, 'older', 'x')
	b = place.top + '/b.db'
	place.hookd('backup', b)
	fill(place, 15, 'newer', 'y')
	place.stop()
	p = subprocess.Popen([HOOKD, 'restore', '-y', b, '--dir', place.dir, '--token-file', place.dir + '/owner.token'],
	    env=place.env,
	                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	time.sleep(after_ms / 1000)
	p.kill()
	p.wait()
	text = json.dumps(place.events())
	older, newer = text.count('older number'), text.count('newer number')
	assert older >= 15 and newer in (0, 15)


# ---- 9. damage is told, and the spool is used -----------------------------------------------------------------------


def test_9_when_the_journal_cannot_be_written_the_spool_is_used(place):
	place.start()
	place.call('echo first', session='j')
	place.events()
	pid = place.pid()
	old = resource.prlimit(pid, resource.RLIMIT_FSIZE, (60000, resource.RLIM_INFINITY))
	big = 'x' * 40000
	for i in range(5):
		assert place.call('echo full%d %s' % (i, big), session='j').returncode == 0
	resource.prlimit(pid, resource.RLIMIT_FSIZE, old)
	assert wait_for(lambda: all('full%d' % i in json.dumps(place.events()) for i in range(5)), 30)


@pytest.mark.parametrize('how', ['a file', 'a link to nowhere', 'a directory'])
def test_9_a_journal_directory_that_is_none_loses_nothing(place, how):
	place.start()
	place.call('echo first', session='j')
	place.events()
	place.stop()
	shutil.rmtree(place.dir + '/journal')
	if how == 'a file':
		place.write(place.dir + '/journal', 'x')
	elif how == 'a link to nowhere':
		os.symlink('/nonexistent/x', place.dir + '/journal')
	for i in range(3):
		assert place.call('echo later%d' % i, session='j').returncode == 0
	if how != 'a directory' and os.path.lexists(place.dir + '/journal') and not os.path.isdir(place.dir + '/journal'):
		place.stop()
		os.unlink(place.dir + '/journal')
	assert wait_for(lambda: all('later%d' % i in json.dumps(place.events()) for i in range(3)), 30)


@pytest.mark.parametrize('cut', [1, 7, 100, 0.5, 'record'])
def test_9_a_segment_that_was_cut_is_reported(place, cut):
	place.start()
	for i in range(10):
		place.call('echo cut%d' % i, session='c')
	place.kill()
	seg = place.dir + '/journal/' + sorted(os.listdir(place.dir + '/journal'))[-1]
	data = open(seg, 'rb').read()
	end = len(data.rstrip(b'\0'))
	at, ends = 32, []
	while at + 8 <= end:
		n = struct.unpack_from('<I', data, at)[0]
		if not n:
			break
		at += 8 + n
		ends.append(at)
	size = ends[5] if cut == 'record' else int(end * cut) if isinstance(cut, float) else end - cut
	os.truncate(seg, size)
	place.start()
	place.events()
	status = place.out('status') + place.out('logs')
	assert re.search(r'missing|cut|damag|lost', status, re.I), status


@pytest.mark.parametrize('what', ['empty file', 'header only', 'zeros', 'two empty files'])
def test_9_empty_segments_are_not_damage(place, what):
	place.start()
	place.call('echo one', session='e')
	place.events()
	place.stop()
	segs = sorted(os.listdir(place.dir + '/journal'))
	number = (int(segs[-1][:16], 16) if segs else 1) + 1
	for i in range(2 if what == 'two empty files' else 1):
		place.write(place.dir + '/journal/%016x.j' % (number + i), b'\0' * 4096 if what == 'zeros' else b'')
	place.start()
	place.call('echo two', session='e')
	status = json.loads(place.hookd('status', '--json').stdout)
	assert not [v for k, v in status.get('trouble', {}).items() if v] if isinstance(status.get('trouble'),
	    dict) else not status.get('trouble')
	assert 'echo two' in json.dumps(place.events())
	assert not [n for n in os.listdir(place.dir + '/journal') if 'damaged' in n]


def test_9_an_index_that_disagrees_with_its_table_is_found_after_a_crash(place):
	place.start()
	for i in range(60):
		place.call('echo index%d' % i, session='i%d' % (i % 7))
	place.events()
	place.stop()
	db = place.dir + '/hookd.db'
	with sqlite3.connect(db) as c:
		size = c.execute('pragma page_size').fetchone()[0]
		roots = c.execute("select name, rootpage from sqlite_master where type = 'index' and tbl_name = 'events' "
		                  "and rootpage > 0").fetchall()
	c.close()
	changed = 0
	with open(db, 'r+b') as f:
		for _, root in roots:
			f.seek((root - 1) * size)
			page = bytearray(f.read(size))
			cells = struct.unpack_from('>H', page, 3)[0]
			if page[0] == 10 and cells > 2:
				struct.pack_into('>H', page, 3, cells - 1)
				f.seek((root - 1) * size)
				f.write(page)
				changed += 1
	assert changed
	place.start()
	place.kill()
	place.start()

	def sound():
		with sqlite3.connect('file:%s?mode=ro' % db, uri=True) as c:
			return c.execute('pragma integrity_check').fetchone()[0] == 'ok'

	assert wait_for(sound, 60)
	assert sum('index' in json.dumps(e) for e in place.events()) == 60


def test_9_left_over_temporary_files_are_cleaned(place):
	place.start()
	place.call(session='t')
	place.events()
	place.kill()
	old = time.time() - 86400 * 3
	made = [place.write(place.dir + '/' + n, 'x') for n in (
	    'spool/.01ARZ3NDEKTSV4RRFFQ69G5FAV.tmp', 'config.json.hookd-Ab12xY', 'run/x.hookd-Ab12xY',
	        'backups/auto-x.db.part')]
	for path in made:
		os.utime(path, (old, old))
	place.start()
	assert wait_for(lambda: not [x for x in made if os.path.exists(x)], 60)


@pytest.mark.parametrize('plan', ['fsync:1', 'fsync:2', 'write:3', 'write:5', 'fsync:1,write:4'])
@pytest.mark.parametrize('durability', ['normal', 'strict'])
def test_9_failing_disk_calls_lose_nothing(place, plan, durability):
	place.write(place.dir + '/config.json', json.dumps({'durability': durability}))
	p = subprocess.Popen([HOOKD, 'run', '--dir', place.dir, '--test-fail', plan], env=place.env,
	    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	wait_for(lambda: os.path.exists(place.dir + '/run/hookd.sock') or p.poll() is not None)
	for i in range(12):
		assert place.call('echo disk%d' % i, session='d').returncode == 0
	missing = lambda: [i for i in range(12) if json.dumps(place.events()).count('"echo disk%d"' % i) != 1]
	wait_for(lambda: not missing(), 20)
	lost = missing()
	place.stop()
	p.wait(PATIENCE)
	assert lost == []


# ---- 10. children, large payloads, memory ---------------------------------------------------------------------------

# Children that try to stay; every one of them ends by itself after two minutes at the latest.
STAYS = {
    'plain': 'exec sleep 120',
    'ignores TERM': "trap '' TERM HUP INT; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 10; done",
    'own session': 'setsid sleep 120',
    'background in own session': 'setsid sleep 120 & sleep 120',
    'grandchild with the pipe': '(sleep 120 &) ; sleep 120',
    'closes its pipes': 'exec >/dev/null 2>&1 </dev/null; sleep 120',
    'nohup': 'nohup sleep 120', 'double fork': '(setsid sh -c "sleep 120 & sleep 119" &) ; sleep 120',
    'python session': 'python3 -c "import os,time; os.fork() or os.setsid(); time.sleep(120)"',
    'stopped': 'sh -c "kill -STOP \\$\\$; sleep 120"',
}


def children(mark):
	found = []
	for pid in os.listdir('/proc'):
		if pid.isdigit():
			try:
				if mark.encode() in open('/proc/%s/environ' % pid, 'rb').read() and alive(int(pid)):
					found.append(int(pid))
			except OSError:
				pass
	return found


@pytest.mark.parametrize('end', ['killed', 'stopped', 'timeout', 'terminated'])
@pytest.mark.parametrize('name', STAYS)
def test_10_hook_children_end_with_the_daemon_and_with_their_time(place, name, end):
	place.write(place.dir + '/config.json', json.dumps(hooks_of('touch %s/up; ' % place.top + STAYS[name],
	    timeout=1 if end == 'timeout' else 100, observer=True)))
	place.start()
	place.call(session='k-' + os.path.basename(place.top))
	mark = 'k-' + os.path.basename(place.top)
	assert wait_for(lambda: os.path.exists(place.top + '/up') and (end == 'timeout' or children(mark)), 60)
	pid = place.pid()
	if end == 'killed':
		place.kill()
	elif end == 'stopped':
		place.stop()
	elif end == 'terminated':
		os.kill(pid, signal.SIGTERM)
	try:
		assert wait_for(lambda: not children(mark), 60), [command_line(c) for c in children(mark)]
	finally:
		for c in children(mark):
			os.kill(c, signal.SIGKILL)


@pytest.mark.parametrize('size', [100_000, 1_000_000, 3_000_000, 7_900_000])
@pytest.mark.parametrize('event', ['PreToolUse', 'PostToolUse'])
def test_10_a_hung_daemon_and_a_large_payload_are_answered_and_stored_once(place, size, event):
	place.start()
	place.call(session='l')
	os.kill(place.pid(), signal.SIGSTOP)
	try:
		r = place.call('echo large', session='l', event=event, tool_response={'stdout': 'word ' * (size // 5)})
		assert r.returncode == 0
	finally:
		os.kill(place.pid(), signal.SIGCONT)
	large = {'command': 'echo large'}
	count = lambda: sum(e['event'] == event and e['payload'].get('tool_input') == large for e in place.events())
	wait_for(lambda: count() == 1, 20)
	assert count() == 1


def test_10_a_guard_decides_while_the_daemon_hangs_on_a_large_payload(place):
	place.start()
	os.kill(place.pid(), signal.SIGSTOP)
	try:
		r = place.call('cat %s/owner.token # %s' % (place.dir, 'y' * 200_000), session='l')
		assert b'"deny"' in r.stdout or b'"ask"' in r.stdout
	finally:
		os.kill(place.pid(), signal.SIGCONT)


def test_10_events_keep_their_order_over_restarts(place):
	for turn in range(4):
		place.start()
		for i in range(5):
			place.call('echo order%d' % (turn * 5 + i), session='q')
		place.kill() if turn % 2 else place.stop()
	got = [e['payload']['tool_input']['command'] for e in place.events() if e['session'] == 'q']
	assert got == ['echo order%d' % i for i in range(20)]
