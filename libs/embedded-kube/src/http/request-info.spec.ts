import { describe, expect, it } from '@jest/globals';
import { negotiate } from './request-body.js';
import { parseRequestInfo } from './request-info.js';

const none = { group: '', version: '', namespace: '', resource: '', subresource: '', name: '' };

describe('request info', () => {
  it.each([
    ['GET /version', { ...none, verb: 'get', isResource: false }],
    ['GET /apis/apps/v1', { ...none, verb: 'get', isResource: false }],
    ['GET /api/v1/pods', { ...none, version: 'v1', resource: 'pods', verb: 'list', isResource: true }],
    [
      'GET /api/v1/pods?watch=true',
      { ...none, version: 'v1', resource: 'pods', verb: 'watch', isResource: true },
    ],
    [
      'GET /api/v1/namespaces/a/pods/b',
      { ...none, version: 'v1', namespace: 'a', resource: 'pods', name: 'b', verb: 'get', isResource: true },
    ],
    [
      'PATCH /apis/apps/v1/namespaces/a/deployments/b/scale',
      {
        ...none,
        group: 'apps',
        version: 'v1',
        namespace: 'a',
        resource: 'deployments',
        name: 'b',
        subresource: 'scale',
        verb: 'patch',
        isResource: true,
      },
    ],
    [
      'DELETE /apis/apps/v1/namespaces/a/deployments',
      {
        ...none,
        group: 'apps',
        version: 'v1',
        namespace: 'a',
        resource: 'deployments',
        verb: 'deletecollection',
        isResource: true,
      },
    ],
    [
      'GET /api/v1/namespaces',
      { ...none, version: 'v1', resource: 'namespaces', verb: 'list', isResource: true },
    ],
    [
      'GET /api/v1/namespaces/a',
      {
        ...none,
        version: 'v1',
        namespace: 'a',
        resource: 'namespaces',
        name: 'a',
        verb: 'get',
        isResource: true,
      },
    ],
    [
      'PUT /api/v1/namespaces/a/finalize',
      {
        ...none,
        version: 'v1',
        namespace: 'a',
        resource: 'namespaces',
        name: 'a',
        subresource: 'finalize',
        verb: 'update',
        isResource: true,
      },
    ],
    [
      'POST /api/v1/namespaces/a/serviceaccounts/b/token',
      {
        ...none,
        version: 'v1',
        namespace: 'a',
        resource: 'serviceaccounts',
        name: 'b',
        subresource: 'token',
        verb: 'create',
        isResource: true,
      },
    ],
    [
      'GET /api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Db&watch=1',
      {
        ...none,
        version: 'v1',
        namespace: 'a',
        resource: 'secrets',
        name: 'b',
        verb: 'watch',
        isResource: true,
      },
    ],
    [
      'GET /api/v1/namespaces/a/secrets?fieldSelector=type!%3Dx%5C,metadata.name%3Db',
      { ...none, version: 'v1', namespace: 'a', resource: 'secrets', verb: 'list', isResource: true },
    ],
  ])('%s', (line, expected) => {
    const [method = '', target = ''] = line.split(' ');
    const [path = '', search = ''] = target.split('?');
    expect(parseRequestInfo(method, path, new URLSearchParams(search))).toEqual({
      ...expected,
      method,
      path,
    });
  });
});

describe('the format of an answer', () => {
  it.each([
    [undefined, { kind: 'object', yaml: false }],
    ['application/json', { kind: 'object', yaml: false }],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', { kind: 'table', version: 'v1' }],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', { kind: 'object', yaml: false }],
    ['application/vnd.kubernetes.protobuf,application/json', { kind: 'object', yaml: false }],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', { kind: 'metadata', version: 'v1' }],
    ['application/yaml', { kind: 'object', yaml: true }],
    ['application/json, */*;q=0.8', { kind: 'object', yaml: false }],
    ['application/vnd.kubernetes.protobuf', undefined],
  ])('%s', (accept, format) => {
    expect(negotiate(accept)).toEqual(format);
  });
});
