// Package certificate makes and verifies certificate.json: what was certified, under which
// suite and catalogue, with which verdict on every check, how still the machine was, and the
// hash of the capture that all of it rests on, signed with an ed25519 key that the signer
// brings.
//
//	key, err := certificate.ReadKey("key.pem") // openssl genpkey -algorithm ed25519 -out key.pem
//	c, err := certificate.Make(report.Capture(), key)
//	err = c.Save(dir)                          // next to the capture
//
//	c, err := certificate.Verify(filepath.Join(dir, certificate.File), certificate.Options{Public: pub})
//
// # Story
//
// Nobody has to believe the verdicts of a certificate: the capture goes with it, and [Verify]
// judges it again. It holds the signature against the key, the capture against its hash, its
// checks against the whole catalogue of this suite, and everything that the certificate
// repeats (target, digest of its program, noise, verdicts, outcome) against the capture.
//
// # Promises
//
// Whatever is changed in either file after the signature is found out, and the error says
// what it was; so is a certificate that was signed over fewer checks than the catalogue has,
// over checks described otherwise, or with verdicts that the capture does not bear out. A
// certificate has one form, to the byte, so that two readers cannot read it differently.
// Known failures count in full: they are put off for a build, never in a certificate.
//
// # Not promised
//
// A signature says who vouches, not that the run took place: whoever makes up a capture and
// signs it is a liar whom only another run finds out. Without a public key from elsewhere
// [Verify] says that certificate and capture belong together, and no more. Certificates do
// not expire, and there is no list of revoked keys.
package certificate
