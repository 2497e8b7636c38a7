# A database with version 0.1.0 of the extension, whose views are in use, becomes one of this version; and what is said
# where the extension and the loaded library are of different versions.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('upgrade');
start_ready($node);
my $version = $node->safe_psql('postgres', 'SELECT gpujoin_version()');
is($node->safe_psql('postgres', q(SELECT extversion FROM pg_extension WHERE extname = 'gpujoin')),
	$version, 'the extension is created with the version of the library');
$node->safe_psql('postgres', "CREATE DATABASE $_") for ('old', 'new', 'elsewhere');
$node->safe_psql('postgres', 'CREATE ROLE watcher; CREATE ROLE starter');

# In use: tables, views over ours and over functions, a prepared plan, and privileges that somebody has granted.
$node->safe_psql('old', q{
	CREATE EXTENSION gpujoin VERSION '0.1.0';
	CREATE TABLE a AS SELECT i AS k, i % 100 AS v FROM generate_series(1, 20000) i;
	CREATE VIEW joins_so_far AS SELECT joins, failed FROM pg_stat_gpujoin;
	CREATE VIEW all_figures AS SELECT * FROM pg_stat_gpujoin;
	CREATE VIEW devices_now AS SELECT d.*, s.ready FROM gpujoin_devices d, gpujoin_status() s;
	CREATE FUNCTION restarts() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT server_restarts FROM gpujoin_statistics(); END;
	GRANT SELECT ON pg_stat_gpujoin TO watcher;
	GRANT EXECUTE ON FUNCTION gpujoin_statistics() TO watcher;
	GRANT EXECUTE ON FUNCTION gpujoin_calibrate() TO starter});
my $in_use = 'SELECT count(*) > 0, (SELECT count(*) FROM devices_now), (SELECT sum(joins) >= 0 FROM joins_so_far), restarts(), '
  . '(SELECT sum(x.v) FROM a x JOIN a y USING (k)), sum(server_restarts) FROM all_figures';
my $before = $node->safe_psql('old', $in_use);
my $session = $node->background_psql('old');
$session->query_safe("PREPARE figures AS $in_use");
$session->query_safe('EXECUTE figures');

$node->safe_psql('old', 'ALTER EXTENSION gpujoin UPDATE');
is($node->safe_psql('old', $in_use), $before, 'what was in use goes on');
is($session->query_safe('EXECUTE figures'), $before, 'in sessions that were there before, too');
$session->quit;
is($node->safe_psql('old', 'SET ROLE watcher; SELECT count(*) > 0 FROM pg_stat_gpujoin'), 't', 'privileges are kept');
is($node->safe_psql('old', q(SELECT has_function_privilege('starter', 'gpujoin_calibrate()', 'EXECUTE'))), 't', 'of functions, too');

# The same objects as those of an extension that begins with this version, but for what others have granted.
$node->safe_psql('old', 'REVOKE SELECT ON pg_stat_gpujoin FROM watcher; REVOKE EXECUTE ON FUNCTION gpujoin_calibrate(), gpujoin_statistics() FROM starter, watcher');
$node->safe_psql('new', 'CREATE EXTENSION gpujoin');
$node->safe_psql('elsewhere', q(CREATE SCHEMA apart; CREATE EXTENSION gpujoin SCHEMA apart VERSION '0.1.0'; ALTER EXTENSION gpujoin UPDATE));
my $objects = q{
	SET search_path = public, apart;
	SELECT pg_describe_object(d.classid, d.objid, d.objsubid), obj_description(d.objid, d.classid::regclass::name),
		p.proacl, pg_get_functiondef(p.oid), c.relacl, pg_get_viewdef(c.oid), i.initprivs,
		(SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid)
	FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
	LEFT JOIN pg_init_privs i ON i.classoid = d.classid AND i.objoid = d.objid
	WHERE e.extname = 'gpujoin' AND d.deptype = 'e' ORDER BY 1};
my $fresh = $node->safe_psql('new', $objects);
like($fresh, qr/gpujoin_status/, 'objects can be compared');
is($node->safe_psql('old', $objects), $fresh, 'they are those of a new extension');
(my $moved = $node->safe_psql('elsewhere', $objects)) =~ s/\bapart\./public./g;
is($moved, $fresh, 'in another schema, too');
is($node->safe_psql('new', q{SELECT count(*) FROM pg_depend WHERE deptype = 'e' AND classid <> 'pg_type'::regclass AND obj_description(objid, classid::regclass::name) IS NULL
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpujoin')}), '0', 'all of them have comments');
$node->safe_psql('old', 'DROP VIEW joins_so_far, all_figures, devices_now; DROP FUNCTION restarts; DROP EXTENSION gpujoin');

# The first thing that a script does, were it newer than the library that is loaded: as after the upgrade of a package,
# without a restart.
chomp(my $share = `pg_config --sharedir`);
my ($check) = slurp_file("$share/extension/gpujoin--0.1.0--0.2.0.sql") =~ /^(DO.*?^\$\$;)/ms;
my ($rc, $out, $err) = $node->psql('new', $check);
is($rc, 0, 'a script goes on with the library of its version');
$check =~ s/0\.2\.0/9.9.9/g;
($rc, $out, $err) = $node->psql('new', "\\set VERBOSITY verbose\n$check");
like($err, qr/ERROR:  55000: the loaded library is gpujoin \Q$version\E, and this is version 9\.9\.9 .*HINT:  Restart PostgreSQL/s,
	'one that is newer ends, and says why');

# Functions with other columns than the library gives.
$node->safe_psql('new', q{ALTER EXTENSION gpujoin DROP FUNCTION gpujoin_status; DROP FUNCTION gpujoin_status;
	CREATE FUNCTION gpujoin_status(OUT ready boolean, OUT reason text) AS '$libdir/gpujoin' LANGUAGE C;
	ALTER EXTENSION gpujoin ADD FUNCTION gpujoin_status});
for (['0.1.0', 'Execute ALTER EXTENSION gpujoin UPDATE'], ['0.10.0', 'Restart PostgreSQL'])
{
	my ($other, $hint) = @$_;
	$node->safe_psql('new', "UPDATE pg_extension SET extversion = '$other' WHERE extname = 'gpujoin'");
	($rc, $out, $err) = $node->psql('new', "\\set VERBOSITY verbose\nSELECT gpujoin_status()");
	like($err, qr/ERROR:  55000: extension gpujoin has version \Q$other\E .*library has version \Q$version\E.*HINT:  $hint/s,
		"version $other of the extension is not that of the library");
}
$node->stop;

done_testing();
