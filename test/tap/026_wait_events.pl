# What pg_stat_activity says that processes wait for: names of ours from PostgreSQL 17 on, Extension before.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('wait_events', 'gpujoin.force = on', "gpujoin.server_timeout = '10min'", "gpujoin.keep_memory = '64MB'",
	'max_parallel_workers_per_gather = 0', 'parallel_setup_cost = 0', 'min_parallel_table_scan_size = 0');
start_ready($node);
my $has_names = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;
$node->safe_psql('postgres', 'CREATE TABLE r AS SELECT g AS k, g % 100 AS v FROM generate_series(1, 30000) g; VACUUM ANALYZE r');
my $join = 'SELECT count(*) FROM r a JOIN r b USING (k)';

# Until some process that is said to be one of these waits for that.
sub waits_for
{
	my ($event, $which) = @_;
	my $shown = 'Extension|' . ($has_names ? $event : 'Extension');
	my $seen = wait_until(
		sub {
			my $events = $node->safe_psql('postgres', "SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE $which");
			return grep { $_ eq $shown } split /\n/, $events;
		});
	ok($seen, "$which: waits for $event");
}

# A server that is stopped.
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe("SET plan_cache_mode = force_generic_plan; PREPARE p AS $join; SELECT pg_backend_pid()");
my $server = server_pid($node);
is($session->query_safe('EXECUTE p'), '30000', 'a join');
kill 'STOP', $server;
$session->query_until(qr/started/, "\\echo started\nEXECUTE p;\n");
waits_for('GpujoinServerReply', "pid = $pid");
kill 'CONT', $server;
is($session->query_until(qr/\d+/, '') =~ /30000/ ? 1 : 0, 1, 'and goes on');

# One that is gone, of which nobody starts another.
my $supervisor = supervisor_pid($server);
kill 'STOP', $supervisor;
kill 'KILL', $server;
$session->query_until(qr/started/, "\\echo started\nEXECUTE p;\n");
waits_for('GpujoinServerStart', "pid = $pid");
kill 'CONT', $supervisor;
ok(wait_until_ready($node, $server), 'another one comes');
$session->quit;

# Others of the same query.
$session = $node->background_psql('postgres', on_error_stop => 0);
$pid = $session->query_safe('SET max_parallel_workers_per_gather = 2; SELECT pg_backend_pid()');
my $slow = '(SELECT k FROM r WHERE k <> 17 OR pg_sleep(60) IS NOT NULL)';
$session->query_until(qr/started/, "\\echo started\nSELECT count(*) FROM $slow a JOIN $slow b USING (k);\n");
waits_for('GpujoinParticipants', "$pid IN (pid, leader_pid)");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
eval { $session->quit };

# A keeper with nothing to do, which leaves soon: the session that has called it waits for it. Where it was missed, all begins anew.
$node->safe_psql('postgres', q{CREATE FUNCTION sees_keeper(event text) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 400 LOOP
			PERFORM pg_stat_clear_snapshot();
			IF EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'gpujoin keeper' AND wait_event_type = 'Extension' AND wait_event = event) THEN
				RETURN true;
			END IF;
			PERFORM pg_sleep(0.005);
		END LOOP;
		RETURN false;
	END $$});
my $event = $has_names ? 'GpujoinKeeperMain' : 'Extension';
ok(wait_until(sub {
	$node->safe_psql('postgres', 'SELECT gpujoin_forget(); SET gpujoin.keep_in_background = on; SET gpujoin.aggregate = on; ' . 'SELECT v, count(*) FROM r GROUP BY v; ' x 3 . "SELECT sees_keeper('$event')") =~ /^t$/m }),
	"a keeper waits for $event");

if ($has_names)
{
	my $names = $node->safe_psql('postgres', q{SELECT string_agg(name, ' ' ORDER BY name) FROM pg_wait_events WHERE name LIKE 'Gpujoin%'});
	like($names, qr/GpujoinKeeperMain.* GpujoinServerReply/, "pg_wait_events lists them ($names)");
}
$node->stop;

done_testing();
