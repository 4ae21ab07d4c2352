package conformance

// tag is where a clause of the specification comes from, which decides how much a verdict
// about it weighs.
type tag byte

const (
	stated  tag = 'R' // stated by RFC 0204 or ADR-0068
	implied tag = 'I' // implied by them
	field   tag = 'X' // our stricter rule, learnt in the field
)

// level is what a daemon owes to a clause with this tag.
func (t tag) level() Level {
	switch t {
	case stated:
		return Must
	case implied:
		return Should
	case field:
		return Field
	}
	return ""
}

// clauseTags holds every clause of the specification. It is looked up, never ranged over.
var clauseTags = map[string]tag{
	"ID-1": stated, "ID-2": stated, "ID-3": stated, "ID-4": field, "ID-5": field, "ID-6": field, "ID-7": field,
	"CL-1": stated, "CL-2": stated, "CL-3": stated, "CL-4": stated, "CL-5": stated, "CL-6": implied,
	"CL-7": implied, "CL-8": implied, "CL-9": implied, "CL-10": stated, "CL-11": field, "CL-12": field,
	"CL-13": field,
	"DI-1":  stated, "DI-2": stated, "DI-3": stated, "DI-4": stated, "DI-5": stated, "DI-6": stated,
	"DI-7": field, "DI-8": implied, "DI-9": field, "DI-10": field, "DI-11": implied, "DI-12": field,
	"DI-13": field, "DI-14": field, "DI-15": field,
	"ST-1": stated, "ST-2": field, "ST-3": implied, "ST-4": field, "ST-5": implied, "ST-6": stated,
	"ST-7": field, "ST-8": implied, "ST-9": field,
	"RE-1": stated, "RE-2": field, "RE-3": stated, "RE-4": stated, "RE-5": stated, "RE-6": stated,
	"RE-7": stated, "RE-8": field, "RE-9": field, "RE-10": field, "RE-11": implied,
	"CA-1": stated, "CA-2": stated, "CA-3": stated, "CA-4": implied, "CA-5": field, "CA-6": implied,
	"CA-7": field, "CA-8": field, "CA-9": field, "CA-10": field, "CA-11": field, "CA-12": field, "CA-13": field,
	"CA-14": implied, "CA-15": field,
	"RC-1": stated, "RC-2": stated, "RC-3": implied, "RC-4": implied, "RC-5": field, "RC-6": field,
	"RC-7": stated,
	"PR-1": field, "PR-2": field, "PR-3": field, "PR-4": field, "PR-5": field, "PR-6": field, "PR-7": implied,
	"PR-8": field, "PR-9": field, "PR-10": field,
	"SE-1": field, "SE-2": field, "SE-3": field, "SE-4": field,
	"EV-1": stated, "EV-2": field, "EV-3": field, "EV-4": field, "EV-5": implied, "EV-6": field,
	"CF-1": stated, "CF-2": implied, "CF-3": stated, "CF-4": field, "CF-5": field, "CF-6": field, "CF-7": field,
	"CF-8": field, "CF-9": field,
	"SH-1": field, "SH-2": field, "SH-3": field,
	"OL-1": stated, "OL-2": stated, "OL-3": implied, "OL-4": implied, "OL-5": stated, "OL-6": stated,
	"OL-7": stated, "OL-8": implied, "OL-9": stated, "OL-10": stated, "OL-11": stated, "OL-12": stated,
	"OL-13": stated, "OL-14": implied, "OL-15": stated, "OL-16": implied, "OL-17": implied, "OL-18": field,
	"OL-19": field, "OL-20": implied, "OL-21": stated, "OL-22": stated, "OL-23": implied, "OL-24": implied,
	"OL-26": implied, "OL-27": implied, "OL-28": implied, "OL-29": stated, "OL-30": stated, "OL-31": implied,
	"OL-32": stated, "OL-33": implied, "OL-34": stated, "OL-35": field, "OL-36": stated, "OL-37": stated,
	"OL-38": stated, "OL-39": field, "OL-40": field, "OL-45": stated, "OL-46": implied, "OL-48": stated,
	"OL-49": implied, "OL-50": implied, "OL-51": implied, "OL-52": stated, "OL-53": implied, "OL-54": field,
	"PC-1": implied, "PC-2": implied, "PC-3": field, "PC-4": field, "PC-5": implied, "PC-6": field,
	"PC-7": field, "PC-8": field, "PC-9": implied, "PC-10": field,
}
