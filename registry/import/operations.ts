import { methods } from '../../schemas/intent.ts';
import { digest, makePathSlug, makeSlug } from './naming.ts';
import { isNode, membersOf, type Node, node, pathOf, resolve, text, Unfit } from './node.ts';
import type { Operation } from './operation.ts';
import type { DocumentWalk } from './walk.ts';

const knownMethods = new Map(methods.map((method) => [method.toLowerCase(), method]));
const otherMethods = ['head', 'options', 'trace', 'query'];

export interface Listed extends Operation {
  /** such as `GET /orders` */
  title: string;
  slug: string;
}

/** The operations of a document, each with a slug of its own. */
export const listOperations = (walk: DocumentWalk): Listed[] => resolveCollisions([...readOperations(walk)], walk);

function* readOperations(walk: DocumentWalk): Generator<Listed> {
  const skip = (operation: string, path: string, reason: string) => walk.skipped.push({ operation, path, reason });
  const paths = walk.attempt('paths', () => membersOf(walk.root.paths)) ?? {};
  for (const [path, item] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue;
    if (!path.startsWith('/')) {
      skip(path, pathOf(item), 'has a path that does not begin with a slash');
      continue;
    }
    const pathItem = walk.attempt(path, () => resolvePathItem(item));
    if (pathItem === undefined) continue;
    for (const [name, given] of Object.entries(pathItem)) {
      const title = `${name.toUpperCase()} ${path}`;
      const method = knownMethods.get(name);
      if (method !== undefined) {
        const operation = walk.attempt(title, () => resolveOperation(given, pathItem));
        if (operation === undefined) continue;
        const slug = makeSlug(text(operation.operationId) ?? '') || makePathSlug(method, path);
        yield { title, path, method, pathItem, node: operation, slug };
      } else if (otherMethods.includes(name)) {
        skip(title, pathOf(given) || pathOf(pathItem), `uses ${name.toUpperCase()}, which intents do not support`);
      } else if (name === 'additionalOperations') {
        for (const [other, operation] of Object.entries(node(given))) {
          skip(`${other} ${path}`, pathOf(operation) || pathOf(pathItem), `uses ${other}, which intents do not support`);
        }
      }
    }
  }
}

/** Resolves a path item, which may have members beside its reference. */
function resolvePathItem(item: unknown): Node {
  const target = resolve(item);
  return text(node(item).$ref) === undefined ? target : { ...target, ...node(item), $ref: undefined };
}

/** @throws Unfit if the operation is not described */
function resolveOperation(given: unknown, pathItem: Node): Node {
  if (!isNode(given)) throw new Unfit(pathOf(pathItem), 'is not described');
  return resolve(given);
}

/**
 * Renames all operations that share a slug by method and path, and those that still share one by a digest of both, so that their order does not matter.
 * Skips any that still collide.
 */
function resolveCollisions(listed: readonly Listed[], { skipped, addNote }: DocumentWalk): Listed[] {
  const bySlug = Map.groupBy(listed, ({ slug }) => slug);
  const isUnique = (slug: string) => bySlug.get(slug)?.length === 1;
  const pathSlugOf = ({ method, path }: Listed) => makePathSlug(method, path);
  const colliding = listed.filter(({ slug }) => !isUnique(slug));
  const shared = Map.groupBy(colliding, pathSlugOf);
  const taken = new Set([...bySlug.keys()].filter(isUnique));
  return listed.flatMap((operation) => {
    const { title, method, path, node: given } = operation;
    if (isUnique(operation.slug)) return [operation];
    const plain = pathSlugOf(operation);
    const slug = shared.get(plain)?.length === 1 && !isUnique(plain) ? plain : `${plain}-${digest(`${method} ${path}`)}`;
    if (taken.has(slug)) {
      skipped.push({ operation: title, path: pathOf(given), reason: `collides with another operation that is called ${slug}` });
      return [];
    }
    taken.add(slug);
    if (slug !== operation.slug) addNote(pathOf(given), `another operation is also called ${operation.slug}; this one became ${slug}`);
    return [{ ...operation, slug }];
  });
}
