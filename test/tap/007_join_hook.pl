# gpujoin_status() tells whether the planner still reaches gpujoin, when another extension has hooked in before it:
# one that passes calls on, and one that does not.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

# Two extensions made on the spot.
my $folder = PostgreSQL::Test::Utils::tempdir();
append_to_file("$folder/hook.c", <<'C');
#include "postgres.h"
#include "fmgr.h"
#include "optimizer/paths.h"
PG_MODULE_MAGIC;
extern __attribute__((visibility("default"))) void _PG_init(void);
static set_join_pathlist_hook_type before;
static void
hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
	 JoinPathExtraData *extra)
{
	if (PASS_ON && before)
		before(root, joinrel, outer, inner, type, extra);
}
void
_PG_init(void)
{
	before = set_join_pathlist_hook;
	set_join_pathlist_hook = hook;
}
C
chomp(my $include = `pg_config --includedir-server`);
for my $pass_on (0, 1)
{
	system("cc -shared -fPIC -I'$include' -DPASS_ON=$pass_on -o '$folder/hook$pass_on.so' '$folder/hook.c' 2>/dev/null") == 0
	  or plan skip_all => 'needs a C compiler';
}

my $node = make_node('hook');
start_ready($node);
is(status($node, 'ready'), 't', 'ready, with nobody in front');

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'gpujoin,$folder/hook1.so'");
$node->restart;
ok(wait_until_ready($node), 'ready, with a hook in front that passes on');

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$folder/hook0.so,gpujoin'");
$node->restart;
ok(wait_until_ready($node), 'ready, with a hook behind that does not');

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'gpujoin,$folder/hook0.so'");
$node->restart;
ok(wait_until(sub { status($node, 'server') eq 'ready' }), 'the server runs');
is(status($node, 'ready'), 'f', 'but with a hook in front that does not pass on, no joins are taken');
is($node->safe_psql('postgres', q(SELECT reason FROM gpujoin_why('SELECT 1 FROM pg_class a JOIN pg_type b ON a.reltype = b.oid'))),
	'the planner has not asked gpujoin', 'and of each join it is known that nobody asked');
like(status($node, 'reason'), qr/another extension has replaced the planner's join hook/, 'and the status says why');

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'gpujoin'");
$node->restart;
ok(wait_until_ready($node), 'ready again');
is($node->safe_psql('postgres', 'SET gpujoin.enabled = off; SELECT ready, reason FROM gpujoin_status()'),
	'f|gpujoin.enabled is off', 'switched off, the status says so');
$node->stop;

done_testing();
