# What the life-cycle tests share: clusters with gpujoin, and questions about its server.
package GpuJoinTest;

use strict;
use warnings;
use Exporter 'import';
use File::Basename;
use File::Copy;
use File::Find;
use File::Path;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(make_node start_ready status server_pid wait_until_ready wait_until wait_until_idle count_keepers call_keeper is_joining is_alive
  is_active sockets special_files supervisor_pid big_join use_fake_server);

# From now on, clusters are of a PostgreSQL of our own, whose gpujoin_server is fake_server.py: PostgreSQL looks for it
# beside its own executable.
sub use_fake_server
{
	plan skip_all => 'needs python3' if system('python3 -c "import socket; socket.send_fds" 2>/dev/null') != 0;
	my %place = map { chomp(my $path = `pg_config --$_`); $_ => $path } ('bindir', 'pkglibdir', 'sharedir');
	my ($root) = join("\0", @place{qw(bindir pkglibdir sharedir)}) =~ m{^(/.*/)[^\0]*\0\1[^\0]*\0\1};
	my $copy = PostgreSQL::Test::Utils::tempdir();
	my %copied = map { my $path = $place{$_}; $path =~ s/^\Q$root\E/$copy\//; $_ => $path } keys %place;
	mkpath(dirname($_)) for values %copied;
	mkpath($copied{bindir});
	symlink $place{$_}, $copied{$_} for ('pkglibdir', 'sharedir');
	for my $program (slurp_dir($place{bindir}))
	{
		next if $program =~ /^\./;
		copy("$place{bindir}/$program", "$copied{bindir}/$program");
		chmod 0755, "$copied{bindir}/$program";
	}
	copy('fake_server.py', "$copied{bindir}/gpujoin_server");
	$ENV{PATH} = "$copied{bindir}:$ENV{PATH}";
}

# A cluster that preloads gpujoin, on the CPU; not started yet.
sub make_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	# Rows of joins come back, few of which are wanted: what most tests are about. What is kept does not depend on when
	# another process comes.
	$node->append_conf('postgresql.conf', "$_\n")
	  for ("shared_preload_libraries = 'gpujoin'", "gpujoin.device = 'cpu'", 'gpujoin.aggregate = off',
		"gpujoin.staging_memory = '64MB'", 'gpujoin.keep_in_background = off', @settings);
	return $node;
}

sub start_ready
{
	my ($node) = @_;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS gpujoin');
	wait_until_ready($node) or die 'gpujoin is not ready: ' . status($node, 'reason');
}

sub status
{
	my ($node, $column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM gpujoin_status()");
}

sub server_pid { return status($_[0], 'server_pid'); }

# Calls until it returns true; returns the seconds that it took, or 0 when it never does. Whoever is late on a busy
# machine has the time that PostgreSQL's own tests give.
sub wait_until
{
	my ($condition) = @_;
	my $begin = time;
	until ($condition->())
	{
		return 0 if time - $begin > $PostgreSQL::Test::Utils::timeout_default;
		sleep 0.05;
	}
	return time - $begin + 0.001;
}

# Until a server takes joins, another one than that of the process $before if that is given: it may be dead without
# anybody having noticed.
sub wait_until_ready
{
	my ($node, $before) = @_;
	$before //= 0;
	return wait_until(
		sub {
			my ($rc, $out) = $node->psql('postgres', "SELECT ready AND server_pid <> $before FROM gpujoin_status()");
			return $rc == 0 && $out eq 't';
		});
}

# Until the server holds nothing of any join.
sub wait_until_idle
{
	my ($node) = @_;
	return wait_until(
		sub { $node->safe_psql('postgres', 'SELECT sum(sessions) + sum(used_memory) FROM gpujoin_devices') eq '0' });
}

# Does the server run a join? One that has been opened and no more may still be opened with the next server.
sub is_joining
{
	my ($node) = @_;
	return $node->safe_psql('postgres', "SELECT bool_or(phase = 'probing' AND probe_rows > 0) FROM gpujoin_running") eq 't';
}

# Is the backend executing a statement?
sub is_active
{
	my ($node, $pid) = @_;
	return $node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $pid") eq 'active';
}

# Is there such a process, other than one that only waits to be reaped?
sub is_alive
{
	my ($pid) = @_;
	my $stat = eval { slurp_file("/proc/$pid/stat") } // return 0;
	return $stat !~ /\) [ZX] /;
}

# Those of a cluster's servers, beside its own.
sub sockets
{
	my ($node) = @_;
	my @found = glob($node->host . '/.s.gpujoin.' . $node->port . '.*');
	return @found;
}

# What neither a copy of a data directory nor a check of its modes goes by: all but files, folders and links.
sub special_files
{
	my ($folder) = @_;
	my @found;
	find(sub { push @found, $File::Find::name if -e && !-f _ && !-d _ }, $folder);
	return @found;
}

# The parent of the server.
sub supervisor_pid
{
	my ($pid) = @_;
	return (slurp_file("/proc/$pid/stat") =~ /\) \S (\d+) /)[0];
}

sub count_keepers { return $_[0]->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'gpujoin keeper'"); }

# The process of a keeper, which another table has called, and which stands still until it is sent CONT: what it is asked for is left to it, and
# is not done. Nothing is kept then.
sub call_keeper
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'CREATE TABLE IF NOT EXISTS caller AS SELECT i, repeat(\'x\', 100) AS pad FROM generate_series(1, 20000) i; SELECT 1');
	$node->safe_psql('postgres', 'VACUUM caller');
	# It leaves half a second later: whoever stands still is there.
	my $keeper;
	my $called = wait_until(sub {
		$node->safe_psql('postgres', 'SET gpujoin.aggregate = on; SET gpujoin.keep_in_background = on; SELECT gpujoin_forget(\'caller\');
			SET gpujoin.force = on; SELECT sum(i), count(*) FROM caller; SELECT sum(i), count(*) FROM caller');
		$keeper = $node->safe_psql('postgres', "SELECT min(pid) FROM pg_stat_activity WHERE backend_type = 'gpujoin keeper'");
		return 0 if $keeper eq '' or kill('STOP', $keeper) != 1;
		return 1 if count_keepers($node) eq '1';
		kill 'CONT', $keeper;
		return 0; });
	ok($called, 'a keeper is there, and stands still');
	$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
	return $keeper;
}

# A join of $rows rows on each side that can only be planned as GPU Join, and its settings.
sub big_join
{
	my ($rows) = @_;
	return "SET gpujoin.force = on; SELECT count(*), sum(a.v + b.v) FROM "
	  . "(SELECT g AS k, g AS v FROM generate_series(1, $rows) g) a JOIN "
	  . "(SELECT g AS k, g AS v FROM generate_series(1, $rows) g) b ON a.k = b.k";
}

1;
