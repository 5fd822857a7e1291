# Answers queries for the address of in-dns.test on port 53 of the loopback device, and refuses all
# other names. For hack/bare-check, in a network namespace of its own.
use strict;
use warnings;
use Socket;

socket(my $server, PF_INET, SOCK_DGRAM, 17) or die "socket: $!";
bind($server, pack_sockaddr_in(53, INADDR_LOOPBACK)) or die "bind: $!";
print "ready\n";
close STDOUT;

while (my $from = recv($server, my $query, 512, 0)) {
    my ($id) = unpack("n", $query);
    my ($at, @labels) = (12);
    while (my $length = unpack("C", substr($query, $at, 1))) {
        push @labels, substr($query, $at + 1, $length);
        $at += 1 + $length;
    }
    my $question = substr($query, 12, $at + 5 - 12);
    my ($type) = unpack("n", substr($query, $at + 1, 2));
    my $known = join(".", @labels) eq "in-dns.test";
    # An A record, a pointer to the name in the question.
    my $answer = $known && $type == 1 ? pack("nnnNn", 0xc00c, 1, 1, 60, 4) . INADDR_LOOPBACK : "";
    my $flags = $known ? 0x8180 : 0x8183;
    send($server, pack("nnnnnn", $id, $flags, 1, $answer ? 1 : 0, 0, 0) . $question . $answer, 0, $from);
}
