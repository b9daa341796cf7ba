// Imported by whatever starts a program of the project. `program | head` is no error: when nobody reads on, the program ends with 0. A full disk is one.
let isClosed = false;

function end(error) {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`The output could not be written: ${error.message}\n`);
    process.exit(1);
  }
  if (isClosed) return;
  isClosed = true;
  // a program that has something to put away first listens for the signal to end
  if (!process.emit('SIGTERM')) process.exit(0);
}

for (const stream of [process.stdout, process.stderr]) stream.on('error', end);
process.on('exit', () => {
  if (isClosed) process.exitCode = 0;
});
