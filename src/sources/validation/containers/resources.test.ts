// Requests, limits and claims. Which field is rejected.
import { runCases } from '../../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'resources',
    base: {},
    cases: [
      [
        'spec.containers.0.resources',
        { requests: { cpu: '2' }, limits: { cpu: '1' } },
        ['spec.containers[0].resources.requests: Invalid value'],
      ],
      [
        'spec.containers.0.resources',
        { limits: { cpu: '-1' } },
        [
          'spec.containers[0].resources.limits[cpu]: Invalid value',
          'spec.containers[0].resources.requests[cpu]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { requests: JSON.parse('{"__proto__": "1"}') as Record<string, string>, limits: { cpu: '1' } },
        ['spec.containers[0].resources.requests[__proto__]: Invalid value'],
      ],
      [
        'spec.containers.0.resources',
        { limits: { disk: '1' } },
        [
          'spec.containers[0].resources.limits[disk]: Invalid value',
          'spec.containers[0].resources.requests[disk]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { limits: { pods: '1' } },
        [
          'spec.containers[0].resources.limits[pods]: Invalid value',
          'spec.containers[0].resources.requests[pods]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { limits: { 'example.com/gpu': '1.5' } },
        [
          'spec.containers[0].resources.limits[example.com/gpu]: Invalid value',
          'spec.containers[0].resources.requests[example.com/gpu]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { requests: { 'example.com/gpu': '1' } },
        ['spec.containers[0].resources.limits: Required value'],
      ],
      [
        'spec.containers.0.resources',
        { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '2' } },
        ['spec.containers[0].resources.requests: Invalid value'],
      ],
      ['spec.containers.0.resources', { limits: { 'example.com/gpu': '2' } }, []],
      [
        'spec.containers.0.resources',
        { limits: { 'hugepages-2Mi': '2Mi' } },
        ['spec.containers[0].resources: Forbidden'],
      ],
      [
        'spec.containers.0.resources',
        { limits: { 'hugepages-2Mi': '3Mi', cpu: '1' } },
        [
          'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value',
          'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value',
        ],
      ],
      ['spec.containers.0.resources', { limits: { 'hugepages-2Mi': '4Mi', cpu: '1' } }, []],
      [
        'spec.containers.0.resources',
        { limits: { 'hugepages-x': '4Mi', cpu: '1' } },
        [
          'spec.containers[0].resources.limits[hugepages-x]: Invalid value',
          'spec.containers[0].resources.requests[hugepages-x]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { limits: { 'bad name': '1' } },
        [
          'spec.containers[0].resources.limits[bad name]: Invalid value',
          'spec.containers[0].resources.requests[bad name]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { limits: { 'requests.example.com/x': '1' } },
        [
          'spec.containers[0].resources.limits[requests.example.com/x]: Invalid value',
          'spec.containers[0].resources.requests[requests.example.com/x]: Invalid value',
        ],
      ],
      [
        'spec.containers.0.resources',
        { claims: [{ name: 'x' }] },
        ['spec.containers[0].resources.claims[0]: Not found'],
      ],
      [
        'spec.resourceClaims',
        [{ name: 'A' }],
        ['spec.resourceClaims[0].name: Invalid value', 'spec.resourceClaims[0]: Invalid value'],
      ],
      [
        'spec.resourceClaims',
        [{ name: 'a', resourceClaimName: 'B', resourceClaimTemplateName: 'C' }],
        [
          'spec.resourceClaims[0]: Invalid value',
          'spec.resourceClaims[0].resourceClaimName: Invalid value',
          'spec.resourceClaims[0].resourceClaimTemplateName: Invalid value',
        ],
      ],
      [
        'spec.resourceClaims',
        [
          { name: 'a', resourceClaimName: 'b' },
          { name: 'a', resourceClaimName: 'b' },
          { resourceClaimName: 'b' },
        ],
        ['spec.resourceClaims[1].name: Duplicate value', 'spec.resourceClaims[2].name: Required value'],
      ],
      [
        'spec.resources',
        { limits: { cpu: '1' }, requests: { cpu: '2' } },
        ['spec.resources.requests: Invalid value'],
      ],
      [
        'spec.resources',
        { limits: { 'ephemeral-storage': '1' } },
        ['spec.resources.limits[ephemeral-storage]: Unsupported value'],
      ],
      ['spec.resources', { limits: { cpu: '1' }, claims: [] }, ['spec.resources.claims: Forbidden']],
    ],
  },
  {
    name: 'claims of containers',
    base: { spec: { resourceClaims: [{ name: 'a', resourceClaimName: 'b' }] } },
    cases: [
      [
        'spec.containers.0.resources',
        { claims: [{ name: 'a' }, { name: 'a' }] },
        ['spec.containers[0].resources.claims[1]: Duplicate value'],
      ],
      [
        'spec.containers.0.resources',
        {
          claims: [
            { name: 'a', request: 'r' },
            { name: 'a', request: 'r' },
          ],
        },
        ['spec.containers[0].resources.claims[1]: Duplicate value'],
      ],
      [
        'spec.containers.0.resources',
        { claims: [{ name: 'a', request: 'r' }, { name: 'a' }] },
        ['spec.containers[0].resources.claims[1]: Duplicate value'],
      ],
      [
        'spec.containers.0.resources',
        { claims: [{ name: 'a', request: 'R' }, {}] },
        [
          'spec.containers[0].resources.claims[0].request: Invalid value',
          'spec.containers[0].resources.claims[1]: Required value',
        ],
      ],
      [
        'spec.containers.0.resources',
        {
          claims: [
            { name: 'a', request: 'r' },
            { name: 'a', request: 's' },
          ],
        },
        [],
      ],
    ],
  },
  {
    name: 'resources of the pod',
    base: {
      spec: {
        containers: [
          { name: 'app', image: 'i', resources: { requests: { cpu: '2' }, limits: { memory: '4Gi' } } },
        ],
      },
    },
    cases: [
      ['spec.resources', { requests: { cpu: '1' } }, ['spec.resources.requests[cpu]: Invalid value']],
      [
        'spec.resources',
        { limits: { memory: '2Gi' } },
        [
          'spec.resources.requests: Invalid value',
          'spec.containers[0].resources.limits[memory]: Invalid value',
        ],
      ],
      ['spec.resources', { limits: { cpu: '4', memory: '8Gi' } }, []],
    ],
  },
]);
