package node

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Word is the argument that makes a test binary a server.
const Word = "nats-node"

const startBound = 30 * time.Second

// Config says which server of which cluster it is.
type Config struct {
	Name    string
	Port    int
	Cluster string   // "" is a server alone
	Route   int      // port for the others
	Routes  []string // HOST:PORT of all
	// Advertise is what other servers are told to connect to besides their own Routes; "" is Route. With relays between
	// the servers it is an address that nobody answers, so that none goes around them.
	Advertise string
	Store     string // directory
	MaxDisk   int64  // bytes that JetStream may use; 0 is what there is
	Login     string // USER:PASSWORD
}

// Args are the arguments of a process.
func (c Config) Args() []string {
	return []string{Word, "-name", c.Name, "-port", fmt.Sprint(c.Port), "-cluster", c.Cluster, "-route", fmt.Sprint(c.Route), "-routes", strings.Join(c.Routes, ","),
		"-advertise", c.Advertise, "-store", c.Store, "-max-disk", fmt.Sprint(c.MaxDisk), "-login", c.Login}
}

// Main is a server until it is told to end.
func Main(args []string) int {
	var c Config
	fs := flag.NewFlagSet(Word, flag.ContinueOnError)
	fs.StringVar(&c.Name, "name", "", "of the server")
	fs.IntVar(&c.Port, "port", 0, "for clients")
	fs.StringVar(&c.Cluster, "cluster", "", "name of the cluster")
	fs.IntVar(&c.Route, "route", 0, "port for the other servers")
	routes := fs.String("routes", "", "of all servers")
	fs.StringVar(&c.Advertise, "advertise", "", "HOST:PORT for the other servers")
	fs.StringVar(&c.Store, "store", "", "directory")
	fs.Int64Var(&c.MaxDisk, "max-disk", 0, "bytes")
	fs.StringVar(&c.Login, "login", "", "USER:PASSWORD")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	c.Routes = strings.Split(*routes, ",")
	s, err := server.NewServer(c.options())
	if err == nil {
		s.Start()
		if !s.ReadyForConnections(startBound) {
			err = fmt.Errorf("port %d is not served", c.Port)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "the server %s cannot start: %v\n", c.Name, err)
		return 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return 0
}

func (c *Config) options() *server.Options {
	const host = "127.0.0.1"
	user, password, _ := strings.Cut(c.Login, ":")
	o := &server.Options{ServerName: c.Name, Host: host, Port: c.Port, Username: user, Password: password, JetStream: true, StoreDir: c.Store,
		JetStreamMaxStore: c.MaxDisk, NoLog: true, NoSigs: true}
	if c.Cluster != "" {
		o.Cluster = server.ClusterOpts{Name: c.Cluster, Host: host, Port: c.Route, Advertise: c.Advertise}
		for _, r := range c.Routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: r})
		}
	}
	return o
}
