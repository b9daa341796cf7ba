import type { Pagination } from '../../../schemas/pagination.ts';
import type { ApiRequest } from './request.ts';

/**
 * The `Link` header of a page (RFC 8288): `next` and `prev`, with the query of the request.
 * @param next - additional query parameters of the next page's link
 */
export function pageLinks(
  request: ApiRequest,
  { current_page, total_pages, page_size }: Omit<Pagination, 'total_results'>,
  next: Record<string, string | undefined> = {},
): Record<string, string> {
  const link = (rel: string, page: number, more: Record<string, string | undefined> = {}) => {
    const query = new URLSearchParams(request.queryValues());
    for (const name of Object.keys(next)) query.delete(name);
    query.set('page', String(page));
    query.set('page_size', String(page_size));
    for (const [name, value] of Object.entries(more)) if (value !== undefined) query.set(name, value);
    return `<${request.baseUrl}${request.path}?${query}>; rel="${rel}"`;
  };
  const links = [
    ...(current_page < total_pages ? [link('next', current_page + 1, next)] : []),
    ...(current_page > 1 ? [link('prev', Math.min(current_page - 1, Math.max(total_pages, 1)))] : []),
  ];
  return links.length > 0 ? { Link: links.join(', ') } : {};
}

/** The `Link` header of a page with a cursor: the query of the request with the parameters `next`, or no header if all of them are undefined. */
export function nextLink(request: ApiRequest, next: Record<string, string | undefined>): Record<string, string> {
  const query = new URLSearchParams(request.queryValues());
  const given = Object.entries(next).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  for (const [name, value] of given) query.set(name, value);
  return given.length > 0 ? { Link: `<${request.baseUrl}${request.path}?${query}>; rel="next"` } : {};
}
