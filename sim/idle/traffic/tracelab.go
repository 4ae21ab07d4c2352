package traffic

// The laws of coding agents, from the quantiles that TraceLab published (43 developers, about
// 4,300 sessions, 432,510 tool calls; arXiv 2606.30560). Medians, 90th and 99th percentiles
// and the shares named below are the published ones. Below a median they follow the log-normal
// law through median and 90th percentile where nothing is published, and the last point of each
// is placed so that the published mean comes out: human waits 46.7 min, generation 13.2 s,
// tools 18.4 s, 9.2 requests a session, 10.8 tool calls a request, 101.4 a session.
var (
	waitPoints = []Quantile{
		{0, .14}, {.01, .68}, {.05, 2.81}, {.1, 5.98}, {.2, 14.94}, {.3, 28.9}, {.4, 50.8},
		{.5, 86}, {.75, 300}, {.9, 1236}, {.957, 3600}, {.99, 50040}, {.99988, 31 * day},
	}
	generationPoints = []Quantile{
		{0, .215}, {.01, .483}, {.05, .995}, {.1, 1.46}, {.2, 2.33}, {.3, 3.27}, {.4, 4.36},
		{.5, 5.7}, {.9, 22.2}, {.99, 84}, {.999, 1700},
	}
	// 70 % of tool calls end within a second, 4 % take more than a minute.
	toolPoints = []Quantile{
		{0, .005}, {.1, .02}, {.3, .08}, {.5, .3}, {.7, 1}, {.9, 13.6}, {.96, 60}, {.99, 216}, {.999, 5000},
	}

	// Counts are whole parts of a draw. More than half of all sessions have one request, and yet
	// the median session has 25 tool calls where the median request has 2: requests that are
	// alone have a law of their own, fitted to the published calls a session (25, 176 and 1,438).
	requestPoints = []Quantile{{0, 1}, {.53, 1.99}, {.9, 18.4}, {.99, 137.5}, {.9998, 1500}}
	callPoints    = []Quantile{{0, .5}, {.5, 2.4}, {.75, 9.5}, {.9, 30.5}, {.99, 113.5}, {.9995, 600}}
	alonePoints   = []Quantile{{0, .6}, {.2, 7}, {.5, 24}, {.9, 50}, {.99, 100}}
)

// callsPerRound is how many tool calls a round that calls any asks for: 432,510 calls in
// 357,161 rounds, of which each request's last calls none.
const callsPerRound = 1.36

// HumanWaits is how long a developer takes to answer: median 86 s, 25 % above 5 min, 4.3 % above
// an hour.
func HumanWaits() Law { return published("human waits", waitPoints) }

// Generations is the time of one round of the model: median 5.7 s.
func Generations() Law { return published("generation", generationPoints) }

// ToolTimes is the time of one tool call: median 0.3 s, mean 18.4 s.
func ToolTimes() Law { return published("tools", toolPoints) }

func published(name string, points []Quantile) Law {
	l, err := Table(name, points)
	if err != nil {
		panic("traffic: a published table is broken: " + err.Error())
	}
	return l
}
