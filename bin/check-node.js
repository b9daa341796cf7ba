// Runs before every script, on whatever Node there is.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `Intent Gate needs Node 24 or newer; this is Node ${process.versions.node}. Run "npm ci", which brings it, or install it from nodejs.org.`,
  );
  process.exit(1);
}
