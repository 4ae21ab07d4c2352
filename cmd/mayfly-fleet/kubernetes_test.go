package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifest is what kubernetes.yaml may hold: the fields of Kubernetes that it uses, and where they belong. A field
// that is misspelt or in another place does not decode.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   metadata
	Type       string
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Strategy struct {
			RollingUpdate struct {
				MaxUnavailable string `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		}
		Template struct {
			Metadata metadata
			Spec     pod
		}
	}
}

type metadata struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
}

type pod struct {
	Token      *bool       `yaml:"automountServiceAccountToken"`
	Grace      int         `yaml:"terminationGracePeriodSeconds"`
	Security   podSecurity `yaml:"securityContext"`
	Containers []container
	Volumes    []volume
}

type podSecurity struct {
	NonRoot bool                  `yaml:"runAsNonRoot"`
	User    int                   `yaml:"runAsUser"`
	Group   int                   `yaml:"runAsGroup"`
	FSGroup int                   `yaml:"fsGroup"`
	Seccomp struct{ Type string } `yaml:"seccompProfile"`
}

type container struct {
	Name, Image   string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			ConfigMapKeyRef struct{ Name, Key string } `yaml:"configMapKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	Resources struct{ Requests, Limits map[string]string }
	Security  struct {
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string }
	} `yaml:"securityContext"`
	Mounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type volume struct {
	Name      string
	ConfigMap struct {
		Name  string
		Items []struct{ Key, Path string }
	} `yaml:"configMap"`
	Secret struct {
		SecretName  string `yaml:"secretName"`
		DefaultMode int    `yaml:"defaultMode"`
	}
}

// manifests reads kubernetes.yaml, by kind.
func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	text, err := os.ReadFile("kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	all := map[string]manifest{}
	for {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind != "Namespace" && m.Metadata.Namespace != "mayfly" || m.Metadata.Name == "" {
			t.Errorf("the %s is not named, or elsewhere: %+v", m.Kind, m.Metadata)
		}
		all[m.Kind] = m
	}
}

// TestKubernetes: the manifest is one that decodes, what it refers to is in it, its worker has flags that exist and
// no rights that it does not need.
func TestKubernetes(t *testing.T) {
	all := manifests(t)
	want := map[string]string{"Namespace": "v1", "ConfigMap": "v1", "Secret": "v1", "Deployment": "apps/v1"}
	for kind, api := range want {
		if all[kind].APIVersion != api {
			t.Errorf("the %s is of %q, want %q", kind, all[kind].APIVersion, api)
		}
	}
	d := all["Deployment"].Spec
	for k, v := range d.Selector.MatchLabels {
		if d.Template.Metadata.Labels[k] != v {
			t.Errorf("the workers do not have the label %s=%s by which they are found", k, v)
		}
	}
	p := d.Template.Spec
	if len(d.Selector.MatchLabels) == 0 || len(p.Containers) != 1 || len(all) != len(want) {
		t.Fatalf("it is not one deployment of one container: %+v", d)
	}
	c := p.Containers[0]
	if p.Token == nil || *p.Token || !p.Security.NonRoot || p.Security.User == 0 || p.Security.Seccomp.Type != "RuntimeDefault" ||
		c.Security.Escalation == nil || *c.Security.Escalation || !c.Security.ReadOnly || !slices.Equal(c.Security.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("a worker may more than it needs: %+v %+v", p.Security, c.Security)
	}
	if p.Grace < 30 || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
		t.Errorf("grace of %d seconds, resources %+v", p.Grace, c.Resources)
	}
	args := expand(t, all, &c)
	fleet(t.Context(), append(args, "surplus")...).wants(t, exitUsage, `"surplus" is too much`) // it comes after all flags
	flags := map[string]string{}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		flags[name] = value
	}
	_, port, err := net.SplitHostPort(flags["-metrics"])
	if notes := d.Template.Metadata.Annotations; err != nil || notes["prometheus.io/port"] != port || notes["prometheus.io/scrape"] != "true" || len(c.Ports) != 1 {
		t.Errorf("metrics on %s, %v; the annotations are %v", flags["-metrics"], err, notes)
	}
	if slots := flags["-slots"]; c.Resources.Requests["cpu"] != slots {
		t.Errorf("%s slots with %s processors", slots, c.Resources.Requests["cpu"])
	}
	mounted(t, all, &p, flags["-tls-ca"], flags["-creds"])
}

// expand are the arguments of a worker, as it gets them.
func expand(t *testing.T, all map[string]manifest, c *container) (args []string) {
	t.Helper()
	values := map[string]string{}
	for _, e := range c.Env {
		values[e.Name] = e.Value
		if ref := e.ValueFrom.ConfigMapKeyRef; ref.Name != "" {
			if ref.Name != all["ConfigMap"].Metadata.Name || all["ConfigMap"].Data[ref.Key] == "" {
				t.Errorf("%s is of %s in %s, where it is not", e.Name, ref.Key, ref.Name)
			}
			values[e.Name] = all["ConfigMap"].Data[ref.Key]
		}
	}
	for _, a := range c.Args {
		for name, v := range values {
			a = strings.ReplaceAll(a, "$("+name+")", v)
		}
		if strings.Contains(a, "$(") {
			t.Errorf("%s has a name of which there is no value", a)
		}
		args = append(args, a)
	}
	return args
}

// mounted: files are where the flags say.
func mounted(t *testing.T, all map[string]manifest, p *pod, files ...string) {
	t.Helper()
	there := map[string]bool{}
	for _, v := range p.Volumes {
		for _, m := range p.Containers[0].Mounts {
			if m.Name != v.Name {
				continue
			}
			if v.ConfigMap.Name == all["ConfigMap"].Metadata.Name {
				for _, i := range v.ConfigMap.Items {
					there[path.Join(m.MountPath, i.Path)] = all["ConfigMap"].Data[i.Key] != ""
				}
			}
			if v.Secret.SecretName == all["Secret"].Metadata.Name && v.Secret.DefaultMode == 0o440 {
				for k := range all["Secret"].StringData {
					there[path.Join(m.MountPath, k)] = true
				}
			}
		}
	}
	for _, f := range files {
		if !there[f] {
			t.Errorf("%s is not mounted; there is %v", f, there)
		}
	}
}
