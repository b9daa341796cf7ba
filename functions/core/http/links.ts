import type { Pagination } from '../../../schemas/pagination.ts';
import type { ApiRequest } from './request.ts';

/** A link (RFC 8288) to the request with other query parameters, and without those that are undefined. */
function linkTo(request: ApiRequest, rel: 'next' | 'prev', parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams(request.queryValues());
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) query.delete(name);
    else query.set(name, String(value));
  }
  return `<${request.baseUrl}${request.path}?${query}>; rel="${rel}"`;
}

/**
 * The `Link` header of a numbered page, to its neighbours.
 * @param after - cursor of the next page
 */
export function pageLinks(
  request: ApiRequest,
  { current_page, total_pages, page_size }: Omit<Pagination, 'total_results'>,
  after: string | undefined,
): Record<string, string> {
  const previous = Math.min(current_page - 1, Math.max(total_pages, 1));
  const links = [
    ...(current_page < total_pages ? [linkTo(request, 'next', { page: current_page + 1, page_size, after })] : []),
    ...(current_page > 1 ? [linkTo(request, 'prev', { page: previous, page_size, after: undefined })] : []),
  ];
  return links.length > 0 ? { Link: links.join(', ') } : {};
}

/** The `Link` header of a page with a cursor, or no header if there is no next page. */
export const nextLink = (request: ApiRequest, name: 'after' | 'before', cursor: string | number | undefined): Record<string, string> =>
  cursor === undefined ? {} : { Link: linkTo(request, 'next', { [name]: cursor }) };
