# Settings of the server that change while the cluster runs: the server keeps what it has as long as a join runs, and is
# then replaced by one with the new values. Values that make no sense, or that the machine does not have, leave the old ones.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('reload', 'gpujoin.force = on', "gpujoin.host_memory = '256MB'", "gpujoin.keep_memory = '64MB'", 'gpujoin.cpu_threads = 2',
	'max_parallel_workers_per_gather = 0');
# With less memory than a machine has nowadays, so that there is a value that is too large.
my $log = $node->logfile;
system_or_bail('bash', '-c', "ulimit -v 8000000; exec pg_ctl -w -D '" . $node->data_dir . "' -l '$log' start");
$node->_update_pid(1);
$node->safe_psql('postgres', 'CREATE EXTENSION gpujoin');
ok(wait_until_ready($node), 'a server runs');
$node->safe_psql('postgres', 'CREATE TABLE r AS SELECT g AS k, g AS v FROM generate_series(1, 20000) g; ANALYZE r;
	CREATE TABLE wide AS SELECT g AS k, md5(g::text) AS t FROM generate_series(1, 300000) g; ANALYZE wide');
my $join = 'SELECT count(*) FROM r a JOIN r b USING (k)';

sub change
{
	my ($setting, $value) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting = '$value'");
	$node->reload;
}

# Until the log has it, from where it was when $from was taken.
sub log_has
{
	my ($pattern, $from) = @_;
	return wait_until(sub { substr(slurp_file($log), $from) =~ $pattern });
}
sub end_of_log { return -s $log; }

# What a server was started with.
sub argument
{
	my ($pid, $option) = @_;
	return (join(' ', split(/\0/, slurp_file("/proc/$pid/cmdline"))) =~ / --$option (\S+)/)[0];
}

# Whose join lasts until it ends it.
my $session = $node->background_psql('postgres', on_error_stop => 0);
sub hold_join { $session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT k FROM r a JOIN r b USING (k); FETCH 1 FROM c'); }

# Each of them, with what shows its value.
my $mb = 1 << 20;
my @changes = (
	['gpujoin.host_memory', '320MB', 'host-memory', 320 * $mb, sub { status($node, 'host_memory') }],
	['gpujoin.staging_memory', '96MB', 'staging-memory', 96 * $mb, sub { status($node, 'staging_memory') }],
	['gpujoin.cpu_threads', 3, 'cpu-threads', 3, sub { $node->safe_psql('postgres', 'SELECT processors FROM gpujoin_devices WHERE engine = $$cpu$$') }],
	['gpujoin.device_memory', '1GB', 'device-memory', 1024 * $mb, undef],
	['gpujoin.keep_memory', '48MB', 'keep-memory', 48 * $mb, undef]);
for my $change (@changes)
{
	my ($setting, $value, $option, $number, $shown) = @$change;
	hold_join();
	my ($pid, $from, $before) = (server_pid($node), end_of_log(), $shown && $shown->());
	change($setting, $value);
	ok(log_has(qr/gpujoin server \(PID $pid\) will be replaced as soon as no join runs, to apply what was changed: \Q$setting\E$/m, $from),
		"$setting is changed while a join runs, and the log tells of it");
	is($node->safe_psql('postgres', $join), '20000', 'joins go on');
	is($shown && $shown->(), $before, 'with the value of before');
	like($session->query_safe('MOVE FORWARD ALL IN c; COMMIT; SELECT $$done$$'), qr/done/, 'the join ends as it would have');
	ok(wait_until_ready($node, $pid), 'then another server takes over');
	ok(log_has(qr/gpujoin server \(PID $pid\) has left, to be replaced$/m, $from), 'since the first one has left');
	is(argument(server_pid($node), $option), $number, 'with the new value');
	is($shown->(), $number, 'as one can see') if $shown;
	is($node->safe_psql('postgres', $join), '20000', 'and joins');
}

# No columns are kept any more, and are again.
my $pid = server_pid($node);
is($node->safe_psql('postgres', 'VACUUM r; SELECT gpujoin_keep($$r$$) > 0'), 't', 'columns are kept');
change('gpujoin.keep_memory', 0);
ok(wait_until_ready($node, $pid), 'gpujoin.keep_memory = 0 is applied without a join, too');
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT gpujoin_keep($$r$$)');
like($err, qr/gpujoin.keep_memory/, 'then none are kept');
$pid = server_pid($node);
change('gpujoin.keep_memory', '48MB');
ok(wait_until_ready($node, $pid), 'and back');
is($node->safe_psql('postgres', 'SELECT gpujoin_keep($$r$$) > 0'), 't', 'they are');

# Sessions that come while one server makes room for the next one lose nothing, whatever moment they come at.
for my $threads (2, 3, 2, 3)
{
	$pid = server_pid($node);
	change('gpujoin.cpu_threads', $threads);
	my $joins = 0;
	$err = '';
	while (server_pid($node) =~ /^(?:$pid)?$/ && $joins < 1000)
	{
		($rc, $out, $err) = $node->psql('postgres', $join);
		last if $out ne '20000';
		$joins++;
	}
	is($err, '', "no join fails while servers change ($joins)");
	ok(wait_until_ready($node, $pid), 'which they do');
}
# A prepared statement is planned for a server whatever becomes of it, and waits for the next one.
$session->query_safe("SET plan_cache_mode = force_generic_plan; PREPARE p AS $join; EXECUTE p");
for my $threads (2, 3)
{
	$pid = server_pid($node);
	change('gpujoin.cpu_threads', $threads);
	my $rows = '20000';
	$rows = $session->query('EXECUTE p') while $rows eq '20000' && server_pid($node) =~ /^(?:$pid)?$/;
	is($rows . $session->{stderr}, '20000', 'nor does a prepared one');
	ok(wait_until_ready($node, $pid), 'while servers change');
}

# Nor does what is asked without a join.
my $threads = 2;
for my $question ('gpujoin_forget()', 'count(*) FROM gpujoin_kept', 'count(*) FROM gpujoin_devices', 'gpujoin_calibrate()')
{
	$pid = server_pid($node);
	change('gpujoin.cpu_threads', $threads);
	($rc, $out, $err) = $node->psql('postgres', "DO \$\$ BEGIN LOOP
		PERFORM $question;
		EXIT WHEN (SELECT ready AND server_pid <> $pid FROM gpujoin_status());
	END LOOP; END \$\$");
	is($err, '', "$question finds one server or the other");
	ok(wait_until_ready($node, $pid), 'while they change');
	$threads = 5 - $threads;
}

# What was changed back is not applied.
hold_join();
$pid = server_pid($node);
my $from = end_of_log();
change('gpujoin.cpu_threads', 1);
ok(log_has(qr/will be replaced as soon as no join runs/, $from), 'a value is changed while a join runs');
sleep 1;  # until the server has been asked to leave
change('gpujoin.cpu_threads', 3);
ok(log_has(qr/gpujoin server \(PID $pid\) will not be replaced/, $from), 'and changed back');
$session->query_safe('COMMIT');
$session->query_safe($join);
sleep 2;
is(server_pid($node), $pid, 'the server stays');

# A join in partitions lasts from the first to the last of them, though each is one of its own for the server.
$session->query_safe("SET gpujoin.max_join_memory = '4MB'; BEGIN; DECLARE c CURSOR FOR SELECT a.t, b.t FROM wide a JOIN wide b USING (k); FETCH 1 FROM c");
$from = end_of_log();
change('gpujoin.cpu_threads', 2);
ok(log_has(qr/gpujoin server \(PID $pid\) will be replaced as soon as no join runs/, $from), 'a value is changed while a join runs in partitions');
$session->query_safe('MOVE FORWARD 100000 IN c; SELECT pg_sleep(1)') for 1 .. 2;
$session->query_safe('MOVE FORWARD 99998 IN c');
is(server_pid($node), $pid, 'the server stays from one to the next');
like($session->query_safe('FETCH ALL FROM c'), qr/^\w{32}\|\w{32}$/, 'until the last row');
ok(wait_until_ready($node, $pid), 'then another one takes over');
$session->query_safe('COMMIT; RESET gpujoin.max_join_memory');
# An error ends it as well.
$pid = server_pid($node);
$session->query("SET gpujoin.max_join_memory = '4MB'; BEGIN; DECLARE c CURSOR FOR SELECT a.t, b.t FROM wide a JOIN wide b USING (k); MOVE FORWARD 50000 IN c; SELECT 1 / 0");
change('gpujoin.cpu_threads', 3);
ok(wait_until_ready($node, $pid), 'so it does when the join has come to nothing');
$session->query('ROLLBACK; RESET gpujoin.max_join_memory');
$pid = server_pid($node);

# Values that make no sense.
for my $bad (['gpujoin.staging_memory', '1MB'], ['gpujoin.host_memory', '100TB'], ['gpujoin.keep_memory', '-2'], ['gpujoin.cpu_threads', '-1'],
	['gpujoin.device_memory', 'much'])
{
	my ($setting, $value) = @$bad;
	my $shown = $node->safe_psql('postgres', "SHOW $setting");
	($rc, $out, $err) = $node->psql('postgres', "ALTER SYSTEM SET $setting = '$value'");
	like($err, qr/ERROR:.*(?:outside the valid range|invalid value)/, "$setting = $value is refused");
	$from = end_of_log();
	$node->append_conf('postgresql.auto.conf', "$setting = '$value'");
	$node->reload;
	ok(log_has(qr/\Q$setting\E.*\n.*contains errors; unaffected changes were applied/, $from), 'and in a file, reported');
	is($node->safe_psql('postgres', "SHOW $setting"), $shown, 'with the old value kept');
	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting = '$shown'");
}
is(server_pid($node), $pid, 'none of which the server has noticed');

# What the machine does not have.
$from = end_of_log();
change('gpujoin.staging_memory', '64GB');
ok(log_has(qr/WARNING:  gpujoin server does not start with what was set: gpujoin.staging_memory\n.*DETAIL:  .*memory.*\n.*HINT:  The values of before stay in use/, $from),
	'a server that does not start with a new value is reported, with its last words');
ok(wait_until_ready($node, $pid), 'and one with the old value takes its place');
is(status($node, 'staging_memory'), 96 * $mb, 'as one can see');
is($node->safe_psql('postgres', $join), '20000', 'joins go on');
$pid = server_pid($node);
$node->reload;
sleep 2;
is(server_pid($node), $pid, 'it is not tried again');
change('gpujoin.staging_memory', '64MB');
ok(wait_until_ready($node, $pid), 'until it is changed again');
is(status($node, 'staging_memory'), 64 * $mb, 'to one that can be had');
$from = end_of_log();
$pid = server_pid($node);
change('gpujoin.staging_memory', '64GB');
ok(log_has(qr/WARNING:  gpujoin server does not start with what was set: gpujoin.staging_memory\n/, $from), 'then the same value is tried, and reported, again');
ok(wait_until_ready($node, $pid), 'and the one of before is in use');
is(status($node, 'staging_memory'), 64 * $mb, 'which is the last one that could be had');
$session->quit;
$node->stop;

done_testing();
