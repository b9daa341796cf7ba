import { useLayoutEffect, useState } from 'preact/hooks';

/** The route, from the URL's fragment, so that it can be linked to and works below any path. */
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

/** The link to a route. Omits empty query parameters. */
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
  // a layout effect, because an effect after painting would miss changes in between
  useLayoutEffect(() => {
    const follow = () => setRoute(readRoute(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}

/** The part of a URL template after the origin. */
export const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/?{]*/, '') || '/';
