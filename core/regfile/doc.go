// Package regfile reads small files whose place is known and whose content is not trusted.
//
// The smallest use:
//
//	data, err := regfile.Read(path, 1<<20)
//
// A path that a person or a directory names may lead to anything. A device has no end, a
// pipe has no writer, and a log that somebody put in the wrong place has gigabytes. Whoever
// reads such a thing whole at its start never starts.
//
// # Promises
//
// Read never waits for another process, never holds more than limit bytes and one, and
// returns the whole file or an error: a file that is too long is never cut. Whether it is a
// regular file is asked before it is opened, since opening a device may do something, and
// again of what was opened. The errors name the path; errors.Is tells [ErrIrregular],
// [ErrTooLong] and those of package fs apart.
//
// # What is not promised
//
// A file that is written meanwhile is read as it comes. Symbolic links are followed. A file
// system that hangs keeps Read.
//
// The package is a leaf: standard library only.
package regfile
