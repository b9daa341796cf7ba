import { useLayoutEffect, useState } from 'preact/hooks';

/** The place on the page, from the fragment of the address. It can be linked to, and works below any path. */
export interface Route {
  /** decoded, for example `['intents', 'world.example:get-country:v1']` */
  path: string[];
  query: URLSearchParams;
}

function readRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The address of a place; members of the query that are empty are left out. */
export function linkTo(path: readonly string[], query: Record<string, string> = {}): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  return `#/${path.map(encodeURIComponent).join('/')}${given.size > 0 ? `?${given}` : ''}`;
}

export function go(link: string, { isReplacing = false } = {}): void {
  if (!isReplacing) {
    location.hash = link;
    return;
  }
  history.replaceState(null, '', link);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  // an effect that comes after drawing would miss what changes in between
  useLayoutEffect(() => {
    const follow = () => setRoute(readRoute(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}

/** What follows the origin of an address, which may have places. */
export const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/?{]*/, '') || '/';
