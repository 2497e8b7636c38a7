# gpujoin_server --check: what it tells of this machine, without a server and whether or not there is a GPU; and that its exit
# status says whether the server could work.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

chomp(my $bin = `pg_config --bindir`);
my $server = "$bin/gpujoin_server";

# Exit status, standard output and standard error.
sub check
{
	my @command = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '<', '/dev/null', '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

my ($status, $out, $err) = check($server, '--check', '--device', 'cpu');
is($status, 0, 'the server could work here');
like($out, qr/^gpujoin_server +\S+ \(build [0-9a-f]{16}\)$/m, 'its version');
like($out, qr/^libraries .*libtbb\.so\.12\.\d+.*glibc \d/m, 'the versions of its libraries');
like($out, qr/^CPU .* \d+ threads?: ready$/m, 'the processor');
like($out, qr/^$_ +\S/m, $_)
  for ('kernel', 'NVIDIA driver', 'CUDA runtime', 'processors', 'memory', 'for the server', 'locked memory', 'overcommit', 'huge pages', '/dev/shm', 'open files');
like($out, qr/^The server can work: joins run on the CPU\.$/m, 'the result in words');
unlike($out, qr/^GPU/m, 'no GPU is looked for where none is wanted');
is($err, '', 'nothing else is said');

($status, $out, $err) = check($server, '--check', '--device', '1023');
is($status, 0, 'it could work without the GPU that it is given');
like($out, qr/^GPU 1023 +no such device$/m, 'which is told');

# Limits of this process.
($status, $out, $err) = check('bash', '-c', "ulimit -l 64; ulimit -n 256; '$server' --check --device cpu");
is($status, 0, 'little may be locked, and few files opened');
like($out, qr/^locked memory +limit 64 kiB$/m, 'which it says');
like($out, qr/^open files +limit 256\n +-> .*LimitNOFILE/m, 'with advice where it hurts');
($status, $out, $err) = check($server, '--check', '--device', 'cpu', '--host-memory', 1 << 45);
like($out, qr/^memory .*\n +-> .*lower gpujoin\.host_memory/m, 'memory that is not there');
for my $memory ('', ' --host-memory ' . (1 << 40))
{
	($status, $out, $err) = check('bash', '-c', "ulimit -v 2000000; '$server' --check --device cpu$memory");
	is($status, 1, "where no memory can be shared the server could not work$memory");
}
like($out, qr/^The server cannot work: could not .* shared memory/m, 'and it says why');
($status, $out, $err) = check($server, '--check', '--staging-memory', 1 << 45);
is($status, 1, 'nor with more staging memory than there is memory');
like($out, qr/^The server cannot work: .*gpujoin\.staging_memory/m, 'which is why');
($status, $out, $err) = check($server, '--check', '--frobnicate');
is($status, 2, 'an option that it does not know');

# A driver that is too old, or says so: a library in its place.
SKIP:
{
	my ($rc, $devices) = check($server, '--list-devices');
	skip 'the server was built without the CUDA engine', 5 if $devices =~ /without the CUDA engine/;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$folder/driver.c", 'int cuDriverGetVersion(int *version) { *version = 11040; return 0; } int cuInit(unsigned flags) { return 100; }');
	skip 'there is no compiler', 5 if system("cc -shared -fPIC -o $folder/libcuda.so.1 $folder/driver.c") != 0;
	local $ENV{LD_LIBRARY_PATH} = $folder;
	($status, $out, $err) = check($server, '--check');
	is($status, 0, 'with an old driver joins run on the CPU');
	like($out, qr/^NVIDIA driver .*for CUDA 11\.4\n +-> It is too old for CUDA (\d+)\.\d+: install driver \d+ or later\.$/m, 'the driver that is needed is named');
	like($out, qr/^The server can work: joins run on the CPU\.$/m, 'as is where joins run');
	like($out, qr/^GPU +.*the NVIDIA driver is too old: it is for CUDA 11\.4, and CUDA \d+\.\d+ needs driver \d+ or later$/m, 'in the list of devices, too');
	($rc, $devices) = check($server, '--list-devices');
	like($devices, qr/the NVIDIA driver is too old: .* needs driver \d+ or later/, 'which has it by itself');
}

done_testing();
