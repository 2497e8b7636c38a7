# Values of a gigabyte, the most that PostgreSQL has: as output columns of both sides, stored and computed, as key and in
# what PostgreSQL decides. Takes minutes, and 12 GB of memory and 4 of disk, so only PG_TEST_EXTRA=huge runs it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

plan skip_all => 'needs PG_TEST_EXTRA=huge' unless ($ENV{PG_TEST_EXTRA} // '') =~ /\bhuge\b/;

my $node = make_node('huge');
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE huge (k integer, t text);
	ALTER TABLE huge ALTER t SET STORAGE EXTERNAL;
	INSERT INTO huge SELECT 1, repeat('0123456789', 100000000);
	INSERT INTO huge SELECT i, 'small ' || i FROM generate_series(2, 30) AS i;
	ANALYZE huge;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;});

# The sums of lengths of both sides, and hashes of where values end.
my $sums = join ', ', 'SELECT count(*)', map { "sum(length($_)::bigint), sum(hashtext(right($_, 30))::bigint)" } qw(a.t b.t);
my %joins = (
	'stored, as output column' => 'huge a JOIN huge b USING (k)',
	'computed, as output column' => 'huge a FULL JOIN (SELECT k + 1 AS k, substr(t, 2) AS t FROM huge OFFSET 0) b ON a.k = b.k',
	'as key' => 'huge a JOIN huge b ON a.t = b.t',
	'in a residual' => q{huge a LEFT JOIN huge b ON a.k = b.k AND a.t < b.t || 'x'});
for my $name (sort keys %joins)
{
	my $query = "$sums FROM $joins{$name}";
	my $core = $node->safe_psql('postgres', "SET gpujoin.enabled = off; $query");
	like($node->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN $query"), qr/Custom Scan \(GPU Join\)/, "$name: taken");
	is($node->safe_psql('postgres', "SET gpujoin.force = on; $query"), $core, "$name: as in core");
}

$node->stop;
done_testing();
