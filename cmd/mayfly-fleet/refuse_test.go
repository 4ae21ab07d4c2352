package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// secretWord is a password that no output may show.
const secretWord = "hunter2hunter2"

// foreign is a server that somebody else runs, as the options say.
func foreign(t *testing.T, o natsserver.Options) *natsserver.Server {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs, o.StoreDir = "127.0.0.1", -1, true, true, t.TempDir()
	s, err := natsserver.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(wait.Bound) {
		t.Fatal("the server does not start")
	}
	return s
}

// file writes a file of the test.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefusals: each bad input is one paragraph, with what to do, and exit code 3; no password is shown.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := server(t)
	plain := foreign(t, natsserver.Options{})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "nats://" + closed.Addr().String()
	closed.Close()
	wrong := file(t, "creds", "fleet:"+secretWord+"\n")
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"wrong credentials":        {[]string{"worker", "-nats", s.URL, "-creds", wrong}, "refuse the credentials; give a file with -creds"},
		"wrong password in an URL": {[]string{"status", "-nats", "nats://fleet:" + secretWord + "@" + strings.TrimPrefix(s.URL, "nats://")}, "refuse the credentials"},
		"no credentials":           {[]string{"status", "-nats", s.URL}, "refuse the credentials"},
		"no file of credentials":   {[]string{"status", "-nats", s.URL, "-creds", dir + "/none"}, "the credentials cannot be read"},
		"some other file":          {[]string{"status", "-nats", s.URL, "-creds", file(t, "x", "one\ntwo\n")}, "is none of the forms that are known"},
		"no JetStream":             {[]string{"run", "-nats", plain.ClientURL(), "-dir", dir + "/a"}, "have no JetStream for us"},
		"an unreachable cluster":   {[]string{"run", "-nats", nobody, "-dir", dir + "/b"}, "no server answers at " + nobody},
		"an unknown campaign":      {at2("status", s.URL, s.Creds, "nothing"), `"nothing" is none of the campaigns with the prefix mayfly`},
		"results of an unknown":    {at2("results", s.URL, s.Creds, "-out", dir+"/c", "nothing"), `there is no such campaign`},
		"pause of an unknown":      {at2("pause", s.URL, s.Creds, "nothing"), `there is no such campaign`},
		"work for an unknown":      {at2("worker", s.URL, s.Creds, "-campaign", "nothing"), `there is no such campaign`},
		"TLS where there is none":  {[]string{"status", "-nats", plain.ClientURL(), "-tls-ca", authority(t).ca}, "do not agree on TLS"},
		"no certificate":           {[]string{"status", "-nats", s.URL, "-tls-ca", wrong}, "holds no certificate in PEM form"},
		"replicas of one server":   {at2("run", s.URL, s.Creds, "-replicas", "3", "-dir", dir+"/e"), "3 replicas want a cluster"},
		"a store in use":           {[]string{"run", "-store", filepath.Dir(s.Creds), "-dir", dir + "/d"}, "another process has the store"},
	} {
		o := fleet(t.Context(), c.args...).wants(t, exitHarness, c.says)
		last := o.stderr[strings.LastIndex(strings.TrimSuffix(o.stderr, "\n"), "\n")+1:]
		if !strings.HasPrefix(last, "mayfly-fleet "+c.args[0]+": ") || o.stdout != "" {
			t.Errorf("%s: %q on standard error, %q on the output; want one paragraph", name, o.stderr, o.stdout)
		}
		if strings.Contains(o.stderr, secretWord) {
			t.Errorf("%s: a password is shown: %s", name, o.stderr)
		}
	}
}

func at2(command, url, creds string, more ...string) []string {
	return append([]string{command, "-nats", url, "-creds", creds}, more...)
}

// TestUsage: what is wrong with a command line is said, with exit code 2.
func TestUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"usage: mayfly-fleet COMMAND":             {},
		`there is no command "fly"`:               {"fly"},
		`there is no kind "dream"`:                {"run", "-kind", "dream"},
		"there is no kind \"\"; use sim, explore": {"run", "-kind="},
		"-seeds is 0":                             {"run", "-seeds", "0"},
		"flag provided but not defined: -agents":  {"run", "-agents", "3"},
		"-listen and -store are of the embedded":  {"run", "-nats", "nats://x", "-store", "y"},
		"-workers 5000":                           {"run", "-workers", "5000"},
		"-deliveries 0":                           {"run", "-deliveries", "0"},
		"-nats is missing":                        {"worker"},
		"-slots is 0":                             {"worker", "-nats", "nats://x", "-slots", "0"},
		"name the campaign":                       {"pause", "-nats", "nats://x"},
		"-out is missing":                         {"results", "-nats", "nats://x", "mine"},
		`"b" is too much`:                         {"cancel", "-nats", "nats://x", "a", "b"},
		`the prefix "a.b" does not do`:            {"status", "-nats", "nats://x", "-prefix", "a.b"},
		"agents is 99":                            {"run", "-kind", "explore", "-agents", "99"},
		"-ack-wait is -1s":                        {"run", "-ack-wait", "-1s"},
		"-replicas is 7":                          {"run", "-nats", "nats://x", "-replicas", "7"},
		"-nats is missing; -creds":                {"run", "-creds", "x", "-seeds", "8"},
		"no file has this name":                   {"run", "-kind", "scenarios", "-files", "none.txtar"},
	} {
		fleet(t.Context(), args...).wants(t, exitUsage, want)
	}
	fleet(t.Context(), "help").wants(t, exitOK, "mayfly-fleet COMMAND", "quarantine")
	fleet(t.Context(), "run", "-h").wants(t, exitOK, "-kind scenarios", "-metrics")
}

// TestInterruptedEarly: a command that is interrupted before it has anything to show was stopped; nothing failed.
func TestInterruptedEarly(t *testing.T) {
	t.Parallel()
	s := server(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"run", "-seeds", "8", "-dir", t.TempDir()}, at2("run", s.URL, s.Creds, "-seeds", "8", "-dir", t.TempDir()), at2("status", s.URL, s.Creds)} {
		fleet(over, args...).wants(t, exitStopped, "mayfly-fleet "+args[0]+": interrupted before")
	}
}

// TestOtherBuild: a worker refuses campaigns of another build, which loses no delivery by it; and so do results
// and a coordinator.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	spec, st, err := q.Create(t.Context(), queue.Spec{ID: "old", Kind: "sim", Build: "v0 0123", Args: []string{"-seeds=8"}, Jobs: 1})
	if err == nil {
		err = q.Offer(t.Context(), spec.ID, 0, st.Round())
	}
	if err != nil {
		t.Fatal(err)
	}
	fleet(t.Context(), append([]string{"worker"}, at(s)...)...).wants(t, exitHarness, "the campaign is of another build: campaign old is of the build v0 0123 and this worker is ", "run the same build on all machines")
	fleet(t.Context(), append([]string{"worker"}, at(s, "-campaign", "old")...)...).wants(t, exitHarness, "the campaign is of another build")
	fleet(t.Context(), append([]string{"results"}, at(s, "-out", t.TempDir(), "old")...)...).wants(t, exitHarness, "the campaign is of another build: old is of the build v0 0123")
	fleet(t.Context(), append([]string{"run"}, at(s, "-name", "old", "-seeds", "8", "-dir", t.TempDir())...)...).wants(t, exitHarness, "the campaign is another one: a campaign old exists, and its build is \"v0 0123\"")
	job, err := q.Take(t.Context(), "old", time.Second)
	if err != nil || job == nil || job.Deliveries != 1 {
		t.Errorf("job %+v, %v; want the first delivery", job, err)
	}
}

// TestAnotherBuildComesLater: a worker that has work says that it refuses a campaign which came later, on its list
// too.
func TestAnotherBuildComesLater(t *testing.T) {
	t.Parallel()
	s := server(t)
	q := open(t, s)
	w := start(t, append([]string{"worker"}, at(s)...)...)
	joined(t, q, w.cmd.Process.Pid, false)
	if _, _, err := q.Create(t.Context(), queue.Spec{ID: "later", Kind: "sim", Build: "v9", Args: []string{"-seeds=8"}, Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the refusal", func() bool {
		return strings.Contains(w.out.String(), "campaign later is of the build v9") &&
			strings.Contains(fleet(t.Context(), append([]string{"status"}, at(s)...)...).stdout, "refuses [later], which are of another build")
	})
}

// certificates are files of an authority, and of a server and a client that it vouches for.
type certificates struct {
	ca, cert, key string
	server        *tls.Config
}

// authority makes certificates for the occasion.
func authority(t *testing.T) certificates {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caRaw, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	check(err)
	keyRaw, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	c := certificates{ca: file(t, "ca.pem", text("CERTIFICATE", caRaw)), cert: file(t, "cert.pem", text("CERTIFICATE", raw)), key: file(t, "key.pem", text("PRIVATE KEY", keyRaw))}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(text("CERTIFICATE", caRaw)))
	c.server = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	return c
}

// TestTLS: a campaign runs on a server that speaks TLS, asks for certificates and a password, and is used by
// others too, who have another prefix; without any of these it is refused.
func TestTLS(t *testing.T) {
	t.Parallel()
	c := authority(t)
	s := foreign(t, natsserver.Options{JetStream: true, TLS: true, TLSConfig: c.server, TLSVerify: true, TLSTimeout: wait.Bound.Seconds(), Username: "rack", Password: secretWord})
	creds := file(t, "creds", "rack:"+secretWord)
	secure := []string{"-nats", strings.Replace(s.ClientURL(), "nats://", "tls://", 1), "-creds", creds, "-tls-ca", c.ca}
	mine := []string{"-tls-cert", c.cert, "-tls-key", c.key}
	with := func(command string, more ...string) []string {
		return append(append(append([]string{command}, secure...), mine...), more...)
	}
	dir := filepath.Join(t.TempDir(), "runs")
	fleet(t.Context(), with("run", append(quick("40"), "-workers", "1", "-prefix", "one", "-dir", dir)...)...).wants(t, exitFailed)
	same(t, "TLS", dir, local(t, quick("40")...))
	fleet(t.Context(), with("status", "-prefix", "two")...).wants(t, exitOK, "no campaign is there")
	fleet(t.Context(), with("status", "-prefix", "one")...).wants(t, exitOK, ": done, kind sim")
	fleet(t.Context(), append([]string{"status"}, secure...)...).wants(t, exitHarness, "mayfly-fleet status: the c")
	other := authority(t)
	secure[5] = other.ca
	fleet(t.Context(), with("status")...).wants(t, exitHarness, "show a certificate that is not trusted")
}
