// How the query ended whose memory is freed: what is registered with it, as the count of joins, comes to know
// of an error only by that, when nobody can be asked which error it was.
#pragma once

namespace gpujoin {

// Notes errors that end the executor's runs.
void install_query_end_hook();

// Whether an error of its own ended what is being freed; else it was cancelled, or given up with its
// transaction or session.
bool has_query_failed();

}  // namespace gpujoin
