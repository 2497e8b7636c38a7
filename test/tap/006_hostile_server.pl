# Whatever a server sends, a backend answers with an error and goes on: it checks every message before it uses it.
use strict;
use warnings;
use File::Basename;
use File::Copy;
use File::Path;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

plan skip_all => 'needs python3' if system('python3 -c "import socket; socket.send_fds" 2>/dev/null') != 0;

# A PostgreSQL of our own, whose gpujoin_server is another: it looks for it beside its own executable.
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

my $node = make_node('hostile');
start_ready($node);
$node->safe_psql('postgres', 'CREATE TABLE a AS SELECT g AS k, g AS v FROM generate_series(1, 100) g; ANALYZE');

# An error is soon there, but on a busy machine not at once; for one who waits for silence a second will do.
sub misbehave
{
	my ($how, $expected, $sqlstate) = @_;
	my $timeout = $sqlstate eq '57014' ? '1s' : '300s';
	my $file = $node->data_dir . '/misbehaviour';
	unlink $file;
	append_to_file($file, $how);
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET gpujoin.force = on;"
		  . "SET statement_timeout = '$timeout'; SELECT a.v, b.v FROM a JOIN a b ON a.k = b.k");
	like($err, qr/ERROR:  (?:$sqlstate): .*$expected/s, $how);
}

my $malformed = 'malformed message from the gpujoin server';
for my $stage ('hello', 'open', 'append', 'seal', 'probe')
{
	misbehave("$stage:$_", $malformed, '58000')
	  for ('short', 'magic', 'version', 'size', 'type', 'long', 'unasked', 'devices', 'ghost_append', 'ghost_result');
	misbehave("$stage:text", 'malformed', '58000');
	misbehave("$stage:silent", 'canceling statement due to statement timeout', '57014');
}
misbehave('hello:version', 'HINT:  Restart PostgreSQL after upgrading gpujoin.', '58000');
misbehave("$_:close", 'lost the connection to the gpujoin server', '58000') for ('append', 'seal', 'probe');
misbehave("hello:$_", $malformed, '58000') for ('no_descriptor', 'unsealed', 'too_small');
misbehave("open:$_", $malformed, '58000') for ('block_outside', 'block_overflow');
misbehave("probe:$_", $malformed, '58000')
  for ('outside', 'overflow', 'unaligned', 'rows', 'numbers_outside', 'no_numbers', 'columns', 'column_outside', 'ghost');

unlike(slurp_file($node->logfile), qr/terminated by signal|crash/, 'no backend has crashed');
$node->stop;
done_testing();
